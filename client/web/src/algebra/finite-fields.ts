// Finite fields of q = p^m elements. An element is an integer below q: its digits in base p are the
// coefficients of z^0, z^1, …. The field's polynomial is the monic irreducible one of degree m whose
// other coefficients, read as such an integer, are least.

import { ManifestError } from "../errors.js";

const MAX_POWER = 128;
const MAX_ORDER = 1 << 16;

export interface FiniteField {
  readonly q: number;
  add(a: number, b: number): number;
  multiply(a: number, b: number): number;
}

const known = new Map<number, FiniteField>();

/** F_q. Throws ManifestError unless q is a prime, or a power of one up to 128. */
export function finiteField(q: number): FiniteField {
  const p = q >= 2 && q <= MAX_ORDER ? primeFactors(q)[0] : 0;
  const m = p ? Math.round(Math.log(q) / Math.log(p)) : 0;
  if (!p || p ** m !== q || (m > 1 && q > MAX_POWER)) {
    throw new ManifestError(`field_order must be a prime, or a power of one up to ${MAX_POWER}, got ${q}`);
  }
  const field = known.get(q) ?? (m === 1 ? primeField(q) : powerField(q, p, m));
  known.set(q, field);
  return field;
}

const primeField = (q: number): FiniteField => ({
  q,
  add: (a, b) => (a + b) % q,
  multiply: (a, b) => (a * b) % q,
});

function powerField(q: number, p: number, m: number): FiniteField {
  const modulus = leastIrreducible(p, m);
  const sums = table(q, (a, b) =>
    number(
      digits(a, p, m).map((x, at) => (x + digits(b, p, m)[at]) % p),
      p,
    ),
  );
  const products = table(q, (a, b) =>
    number(remainder(product(digits(a, p, m), digits(b, p, m), p), modulus, p), p),
  );
  return { q, add: (a, b) => sums[a * q + b], multiply: (a, b) => products[a * q + b] };
}

function table(q: number, of: (a: number, b: number) => number): Uint8Array {
  return Uint8Array.from({ length: q * q }, (_, at) => of(Math.floor(at / q), at % q));
}

/** Coefficients of the least monic irreducible polynomial of degree m, the constant one first. */
function leastIrreducible(p: number, m: number): number[] {
  for (let code = 0; ; code++) {
    const polynomial = [...digits(code, p, m), 1];
    if (isIrreducible(polynomial, p, m)) return polynomial;
  }
}

function isIrreducible(polynomial: number[], p: number, m: number): boolean {
  for (let degree = 1; 2 * degree <= m; degree++) {
    for (let code = 0; code < p ** degree; code++) {
      const divisor = [...digits(code, p, degree), 1];
      if (remainder(polynomial, divisor, p).every((c) => c === 0)) return false;
    }
  }
  return true;
}

function product(a: number[], b: number[], p: number): number[] {
  const terms = new Array<number>(a.length + b.length - 1).fill(0);
  a.forEach((x, i) => {
    b.forEach((y, j) => {
      terms[i + j] = (terms[i + j] + x * y) % p;
    });
  });
  return terms;
}

function remainder(polynomial: number[], monic: number[], p: number): number[] {
  const rest = [...polynomial];
  while (rest.length >= monic.length) {
    const factor = rest.at(-1) as number;
    monic.forEach((c, at) => {
      const place = rest.length - monic.length + at;
      rest[place] = (rest[place] + factor * (p - c)) % p;
    });
    rest.pop();
  }
  return rest;
}

/** Digits in a base, the least significant first. */
export function digits(value: number, base: number, width: number): number[] {
  return Array.from({ length: width }, (_, at) => Math.floor(value / base ** at) % base);
}

const number = (digits: number[], base: number): number =>
  digits.reduceRight((sum, digit) => sum * base + digit, 0);

/** The distinct primes that divide a number, in rising order. */
export function primeFactors(number: number): number[] {
  const primes: number[] = [];
  for (let prime = 2; prime * prime <= number; prime++) {
    if (number % prime === 0) primes.push(prime);
    while (number % prime === 0) number /= prime;
  }
  return number > 1 ? [...primes, number] : primes;
}

/** K: points of the projective space of t coordinates over F_q. */
export const pointCount = (q: number, t: number): number => (q ** t - 1) / (q - 1);
