import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'

/** What a browser hands to an authenticator when a passkey is registered. */
interface NewChallenge {
  readonly challenge: string
  readonly rp_id: string
  readonly user_id: string
}

interface Challenge {
  readonly challenge: string
  readonly rp_id: string
}

interface Passkey {
  readonly id: Buffer
  readonly key: KeyObject
  readonly user: string
}

/** What may be wrong. */
interface Faults {
  readonly origin?: string
  readonly rpId?: string
  readonly isVerified?: boolean
  readonly type?: string
}

const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 }

/**
 * An authenticator in software: it makes P-256 keys and signs with them as WebAuthn says (Level 3, sections 6.1, 6.5 and 6.3.3), without
 * an attestation.
 */
export class SoftwareAuthenticator {
  /** Of the next signature; 0: it does not count. */
  counter = 0
  #passkey: Passkey | undefined

  readonly origin: string

  constructor(origin: string) {
    this.origin = origin
  }

  register({ challenge, rp_id, user_id }: NewChallenge, faults: Faults = {}) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const id = randomBytes(32)
    this.#passkey = { id, key: privateKey, user: user_id }
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    // COSE_Key: {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y} (RFC 9053).
    const cose = Buffer.concat([
      Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]),
      ...[Buffer.from(x, 'base64url'), Buffer.from([0x22, 0x58, 0x20]), Buffer.from(y, 'base64url')],
    ])
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const data = Buffer.concat([
      this.#head(faults.rpId ?? rp_id, FLAGS.attested, faults),
      ...[Buffer.alloc(16), length, id, cose],
    ])
    // {"fmt": "none", "attStmt": {}, "authData": data} (RFC 8949).
    const attestation = Buffer.concat([
      Buffer.from([0xa3, 0x63]),
      Buffer.from('fmt'),
      Buffer.from([0x64]),
      Buffer.from('none'),
      Buffer.from([0x67]),
      Buffer.from('attStmt'),
      Buffer.from([0xa0, 0x68]),
      Buffer.from('authData'),
      Buffer.from([0x58, data.length]),
      data,
    ])
    return {
      id: id.toString('base64url'),
      client_data: this.#clientData('webauthn.create', challenge, faults).toString('base64url'),
      attestation: attestation.toString('base64url'),
      transports: ['internal'],
    }
  }

  sign({ challenge, rp_id }: Challenge, faults: Faults = {}) {
    if (this.#passkey === undefined) throw new Error('this authenticator has no passkey')
    const { id, key, user } = this.#passkey
    const clientData = this.#clientData('webauthn.get', challenge, faults)
    const data = this.#head(faults.rpId ?? rp_id, 0, faults)
    const signed = Buffer.concat([data, createHash('sha256').update(clientData).digest()])
    return {
      id: id.toString('base64url'),
      client_data: clientData.toString('base64url'),
      authenticator_data: data.toString('base64url'),
      signature: createSign('sha256').update(signed).sign(key).toString('base64url'),
      user_handle: user as string | null,
    }
  }

  #head(rpId: string, more: number, { isVerified = true }: Faults): Buffer {
    const flags = FLAGS.present | (isVerified ? FLAGS.verified : 0) | more
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.counter)
    return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([flags]), counter])
  }

  #clientData(type: string, challenge: string, faults: Faults): Buffer {
    const { origin = this.origin } = faults
    return Buffer.from(JSON.stringify({ type: faults.type ?? type, challenge, origin, crossOrigin: false }))
  }
}
