import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { DEMO_YAML, load, loaded } from '../../test/fixtures/config/config.ts'
import { createCertificate } from '../../test/fixtures/providers/certificate.ts'

const YAML = `${DEMO_YAML}server: { tls: { cert: tls/cert.pem, key: tls/key.pem } }\n`
const { cert, key } = createCertificate('llm.example', { to: '20300101000000Z' })

const worldOf = (files: Readonly<Record<string, string>>) => ({ yaml: YAML, files })
const pairOf = (certificate: string, privateKey: string) =>
  worldOf({ '/srv/tls/cert.pem': certificate, '/srv/tls/key.pem': privateKey })
const problemsOf = (world: ReturnType<typeof worldOf>) => {
  const outcome = load(world)
  return outcome.kind === 'loaded' ? [] : outcome.problems.map(({ path, message }) => `${path}: ${message}`)
}

describe('server.tls', () => {
  it('is read beside the file, with the end and the names of its certificate, and the key is a secret file', () => {
    const { config, files, secretFiles } = loaded(pairOf(cert, key))
    expect(config.tls?.cert).toBe(cert)
    expect(config.tls?.key.reveal()).toBe(key)
    expect(config.tls?.expiresAt).toBe(Date.UTC(2030, 0, 1))
    expect(['llm.example', 'other.example', '127.0.0.1'].map((host) => config.tls?.isFor(host))).toEqual([
      true,
      false,
      false,
    ])
    expect(files).toEqual(['/srv/millrace.yaml', '/srv/tls/cert.pem', '/srv/tls/key.pem'])
    expect(secretFiles).toEqual(['/srv/tls/key.pem'])
    expect(JSON.stringify(config)).not.toContain('PRIVATE KEY')
    expect(loaded({ yaml: DEMO_YAML }).config.tls).toBeUndefined()
  })

  it('refuses files that are not there or not PEM, each at its key', () => {
    expect(problemsOf(worldOf({}))).toEqual([
      'server.tls.cert: there is no file /srv/tls/cert.pem',
      'server.tls.key: there is no file /srv/tls/key.pem',
    ])
    expect(problemsOf(pairOf('hello', key))).toEqual(['server.tls.cert: the file is not a certificate in PEM'])
    expect(problemsOf(pairOf(cert, 'hello'))).toEqual(['server.tls.key: the file is not a private key in PEM'])
    expect(problemsOf(pairOf(key, cert))).toEqual(['server.tls.cert: the file is not a certificate in PEM'])
  })

  it('refuses a key of another certificate, and one with a passphrase', () => {
    const other = createCertificate('llm.example').key
    expect(problemsOf(pairOf(cert, other))).toEqual(['server.tls.key: the key does not belong to the certificate'])
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const cipher = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
    const encrypted = privateKey.export(cipher) as string
    expect(problemsOf(pairOf(cert, encrypted))).toEqual(['server.tls.key: the key is encrypted with a passphrase'])
  })

  it('needs both files', () => {
    const outcome = load({ yaml: `${DEMO_YAML}server: { tls: { cert: cert.pem } }`, files: { '/srv/cert.pem': cert } })
    expect(outcome).toMatchObject({ kind: 'invalid', problems: [{ path: 'server.tls.key' }] })
  })
})
