// Sealing a report to the aggregator: HPKE base mode, suite 1 (X25519, HKDF-SHA256, AES-128-GCM).

import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { type Bytes, concat } from "../bytes.js";

/** HPKE enc ‖ ct, 48 bytes longer than the plaintext; `ephemeral` is for tests only. */
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
  const recipientPublicKey = await suite.kem.deserializePublicKey(
    publicKey.buffer.slice(publicKey.byteOffset, publicKey.byteOffset + publicKey.length),
  );
  const sender = await suite.createSenderContext({
    recipientPublicKey,
    info: info.slice().buffer,
    ...(ephemeral && { ekm: ephemeral }),
  });
  const sealed = await sender.seal(plaintext.slice().buffer);
  return concat(new Uint8Array(sender.enc), new Uint8Array(sealed));
}
