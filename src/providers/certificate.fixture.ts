import { generateKeyPairSync, sign } from 'node:crypto'

/** A certificate for tests, made on the spot: nothing secret lies in the repository and nothing expires in it. */
export function createCertificate(
  host: string,
  { from = '20200101000000Z', to = '20991231235959Z' }: { readonly from?: string; readonly to?: string } = {},
): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(set(sequence(OID.commonName, der(0x0c, Buffer.from(host)))))
  const signature = sequence(OID.ecdsaWithSha256)
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    signature,
    name,
    sequence(time(from), time(to)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(OID.subjectAltName, der(0x04, sequence(der(0x82, Buffer.from(host))))))),
  )
  const signed = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]))
  const whole = sequence(body, signature, signed)
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${whole}\n-----END CERTIFICATE-----\n`,
  }
}

const OID = {
  commonName: Buffer.from('0603550403', 'hex'),
  subjectAltName: Buffer.from('0603551d11', 'hex'),
  ecdsaWithSha256: Buffer.from('06082a8648ce3d040302', 'hex'),
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, Buffer.concat(parts))
const set = (...parts: readonly Buffer[]): Buffer => der(0x31, Buffer.concat(parts))
const time = (written: string): Buffer => der(0x18, Buffer.from(written))
