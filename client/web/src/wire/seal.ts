// Sealing a report to the aggregator: HPKE base mode, suite 1 (X25519, HKDF-SHA256, AES-128-GCM).

import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { type Bytes, concat } from "../bytes.js";
import { SealError } from "../errors.js";

// WebKitGTK 2.50 fails to generate one key pair in 256; each attempt is independent.
const KEY_PAIR_ATTEMPTS = 4;

/**
 * HPKE enc ‖ ct, 48 bytes longer than the plaintext; `ephemeral` is for tests only.
 * Throws SealError if the browser fails at it, as names of errors in bundled code say nothing.
 */
export async function seal(
  plaintext: Bytes,
  publicKey: Bytes,
  info: Bytes,
  ephemeral?: CryptoKeyPair,
): Promise<Bytes> {
  const suite = new CipherSuite({
    kem: new DhkemX25519HkdfSha256(),
    kdf: new HkdfSha256(),
    aead: new Aes128Gcm(),
  });
  try {
    const recipientPublicKey = await suite.kem.deserializePublicKey(publicKey.slice().buffer);
    const sender = await suite.createSenderContext({
      recipientPublicKey,
      info: info.slice().buffer,
      ekm: ephemeral ?? (await keyPair(suite.kem)),
    });
    const sealed = await sender.seal(plaintext.slice().buffer);
    return concat(new Uint8Array(sender.enc), new Uint8Array(sealed));
  } catch (cause) {
    throw new SealError("this browser could not seal the report, which waits", { cause });
  }
}

async function keyPair(kem: CipherSuite["kem"], attempts = KEY_PAIR_ATTEMPTS): Promise<CryptoKeyPair> {
  try {
    return await kem.generateKeyPair();
  } catch (error) {
    if (attempts === 1) throw error;
    return keyPair(kem, attempts - 1);
  }
}
