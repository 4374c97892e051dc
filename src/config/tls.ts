import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { dirname, resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { hideFromNowOn, Secret } from '../lib/secret.ts'
import type { FileReader } from './files.ts'
import { childOf, type LocatedNode, nodeAt } from './parse-yaml.ts'
import type { ConfigProblem } from './problem.ts'

/** A certificate with its key, which fit each other. */
export interface TlsPair {
  /** The certificate and those between it and its authority, in PEM. */
  readonly cert: string
  readonly key: Secret
  readonly expiresAt: number
  /** Whether clients that call this host accept the certificate's names. */
  isFor(host: string): boolean
}

interface TlsSources {
  /** Reads the certificate. */
  readonly readFile: FileReader
  /** Reads the key, which is a secret. */
  readonly readSecret: FileReader
  readonly cwd: string
}

/** The pair of `server.tls`. Undefined without one, and with a problem. */
export function readTls(
  sources: TlsSources,
  tree: LocatedNode,
): { readonly pair?: TlsPair | undefined; readonly problems: readonly ConfigProblem[] } {
  const section = nodeAt(tree, ['server', 'tls'])
  const problems: ConfigProblem[] = []
  const refuse = (name: 'cert' | 'key', message: string, cure: string): undefined => {
    const place = (childOf(section, name) ?? section)!.place
    problems.push({ place, path: `server.tls.${name}`, message, cure, cause: 'certificate' })
  }
  const fileOf = (name: 'cert' | 'key', readFile: FileReader): string | undefined => {
    const node = childOf(section, name)
    // checkShape reports it.
    if (node?.kind !== 'scalar' || typeof node.value !== 'string' || node.value === '') return undefined
    // A variable has no line.
    const folder = node.place.line === undefined ? sources.cwd : dirname(node.place.origin)
    const path = resolve(folder, node.value)
    const file = readFile(path)
    if (file.kind === 'text') return file.text
    if (file.kind === 'missing') return refuse(name, `there is no file ${path}`, 'Fix the path, or create the file.')
    return refuse(name, `the file ${path} cannot be read: ${file.reason}`, 'Fix its permissions.')
  }
  const cert = fileOf('cert', sources.readFile)
  const key = fileOf('key', sources.readSecret)
  if (cert === undefined || key === undefined) return { problems }
  const pair = pairOf(cert, key, refuse)
  if (pair !== undefined) hideFromNowOn(key)
  return { pair, problems }
}

function pairOf(
  cert: string,
  key: string,
  refuse: (name: 'cert' | 'key', message: string, cure: string) => undefined,
): TlsPair | undefined {
  const certificate = attempt(() => new X509Certificate(cert))
  if (certificate === undefined)
    return refuse('cert', 'the file is not a certificate in PEM', 'It begins with -----BEGIN CERTIFICATE-----.')
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(key))
    return refuse('key', 'the key is encrypted with a passphrase', 'Decrypt it: openssl pkey -in KEY -out KEY.plain')
  const privateKey = attempt(() => createPrivateKey(key))
  if (privateKey === undefined)
    return refuse('key', 'the file is not a private key in PEM', 'It begins with -----BEGIN PRIVATE KEY-----.')
  if (!certificate.checkPrivateKey(privateKey))
    return refuse(
      'key',
      'the key does not belong to the certificate',
      'Write the key and the certificate of one request; the certificate of this server comes first in its file.',
    )
  // For example a key that is too short for the security level of OpenSSL.
  if (attempt(() => createSecureContext({ cert, key, minVersion: 'TLSv1.2' })) === undefined)
    return refuse(
      'cert',
      'OpenSSL refuses the certificate or its chain',
      'Check it: openssl x509 -in CERT -noout -text',
    )
  return {
    cert,
    key: new Secret(key),
    expiresAt: Date.parse(certificate.validTo),
    isFor: (host) => (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined,
  }
}

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
