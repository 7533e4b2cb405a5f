// Exact rationals. No float decides anything about privacy.

export class Fraction {
  readonly n: bigint;
  readonly d: bigint;

  constructor(n: bigint | number, d: bigint | number = 1n) {
    let [above, below] = [BigInt(n), BigInt(d)];
    if (below < 0n) [above, below] = [-above, -below];
    const common = gcd(above < 0n ? -above : above, below) || 1n;
    this.n = above / common;
    this.d = below / common;
  }

  /** An exact decimal like "-0.25". The caller checks its form. */
  static decimal(text: string): Fraction {
    const [whole, part = ""] = text.split(".");
    return new Fraction(BigInt(whole + part), 10n ** BigInt(part.length));
  }

  add = (o: Fraction): Fraction => new Fraction(this.n * o.d + o.n * this.d, this.d * o.d);
  sub = (o: Fraction): Fraction => new Fraction(this.n * o.d - o.n * this.d, this.d * o.d);
  mul = (o: Fraction): Fraction => new Fraction(this.n * o.n, this.d * o.d);
  div = (o: Fraction): Fraction => new Fraction(this.n * o.d, this.d * o.n);

  /** Below 0, 0 or above 0, as this is less than, equal to or more than the other. */
  compare = (o: Fraction): number => {
    const gap = this.n * o.d - o.n * this.d;
    return gap < 0n ? -1 : gap > 0n ? 1 : 0;
  };

  /** The greatest integer that is not more. */
  floor = (): bigint => floorDivide(this.n, this.d);

  min = (o: Fraction): Fraction => (this.compare(o) <= 0 ? this : o);

  /** The nearest double, for what people read. */
  toNumber(): number {
    const shift = BigInt(Math.max(0, this.d.toString(2).length - this.n.toString(2).length + 64));
    return Number((this.n << shift) / this.d) / 2 ** Number(shift);
  }
}

export const floorDivide = (n: bigint, d: bigint): bigint => (n < 0n ? -((-n + d - 1n) / d) : n / d);

function gcd(a: bigint, b: bigint): bigint {
  while (b) [a, b] = [b, a % b];
  return a;
}
