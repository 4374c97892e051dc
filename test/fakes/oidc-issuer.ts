import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the issuer says about a person, beside the claims of every token. */
export interface IssuerPerson {
  readonly sub: string
  readonly email?: string | undefined
  readonly email_verified?: boolean | string | undefined
  readonly [claim: string]: unknown
}

/** How a token is wrong, or the issuer is careless. */
export interface IssuerFaults {
  /** Replace claims of the next tokens. */
  claims?: Readonly<Record<string, unknown>>
  /** `none`: no signature. `stranger`: signed by a key that the issuer does not publish. */
  signature?: 'none' | 'stranger'
  /** A code works again. */
  allowsReplay?: boolean
  /** Claims only at the user info endpoint. */
  inUserInfo?: readonly string[]
  /** Answers every request with this status. */
  status?: number
  /** Answers discovery with another issuer. */
  issuer?: string
  /** Another address of its keys. */
  keysAt?: string
  /** Answers the keys like this. */
  keys?: { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly text: string }
}

export type TestIssuer = Awaited<ReturnType<typeof startIssuer>>

export const CLIENT_ID = 'millrace'
export const CLIENT_SECRET = 'a-client-secret-of-the-test-issuer'

type Algorithm = 'RS256' | 'ES256'

interface SigningKey {
  readonly kid: string
  readonly alg: Algorithm
  readonly secret: KeyObject
  readonly jwk: object
}

interface Issued {
  readonly person: IssuerPerson
  readonly query: URLSearchParams
  readonly authTime: number
  isUsed: boolean
}

function createKey(alg: Algorithm): SigningKey {
  const { privateKey, publicKey } =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const kid = randomUUID()
  return { kid, alg, secret: privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } }
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function writeToken(claims: object, { kid, alg, secret }: SigningKey, signature: IssuerFaults['signature']): string {
  if (signature === 'none') return `${encoded({ alg: 'none', kid })}.${encoded(claims)}.`
  const key = signature === 'stranger' ? createKey(alg).secret : secret
  const head = `${encoded({ alg, kid })}.${encoded(claims)}`
  const signed = sign('sha256', Buffer.from(head), { key, dsaEncoding: 'ieee-p1363' })
  return `${head}.${signed.toString('base64url')}`
}

/** An OpenID Connect provider with real HTTP and real keys. The `person` signs in without a question, or on a page. */
export async function startIssuer({ alg = 'RS256', page = false }: { alg?: Algorithm; page?: boolean } = {}) {
  const codes = new Map<string, Issued>()
  const tokens = new Map<string, IssuerPerson>()
  const requests: string[] = []
  let key = createKey(alg)
  const issuer = {
    url: '',
    person: { sub: 'sub-1', email: 'ann@example.com', email_verified: true } as IssuerPerson,
    faults: {} as IssuerFaults,
    /** The paths that were asked for. */
    requests,
    rotate(next: Algorithm = alg) {
      key = createKey(next)
    },
    /** What a browser is sent to: the address of the provider becomes the way back. */
    authorize(address: string): string {
      const query = new URL(address).searchParams
      const code = randomUUID()
      codes.set(code, { person: issuer.person, query, authTime: seconds(), isUsed: false })
      const back = new URL(query.get('redirect_uri')!)
      back.searchParams.set('code', code)
      back.searchParams.set('state', query.get('state')!)
      return back.href
    },
    /** A token for a job, as CI systems give it without a browser. */
    issueToken(claims: Readonly<Record<string, unknown>>): string {
      const times = { iat: seconds(), nbf: seconds() - 5, exp: seconds() + 300 }
      return writeToken({ iss: issuer.url, ...times, ...claims, ...issuer.faults.claims }, key, issuer.faults.signature)
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
  const seconds = () => Math.floor(Date.now() / 1000)

  const tokenOf = ({ person, query, authTime }: Issued): string => {
    const hidden = issuer.faults.inUserInfo ?? []
    const shown = Object.fromEntries(Object.entries(person).filter(([name]) => !hidden.includes(name)))
    const claims = {
      ...{ iss: issuer.url, aud: CLIENT_ID, iat: seconds(), exp: seconds() + 300, auth_time: authTime },
      ...{ nonce: query.get('nonce'), ...shown, ...issuer.faults.claims },
    }
    return writeToken(claims, key, issuer.faults.signature)
  }

  const exchange = async (request: IncomingMessage, response: ServerResponse) => {
    const form = new URLSearchParams(await textOf(request))
    const issued = codes.get(form.get('code') ?? '')
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const [, basic = ''] = String(request.headers.authorization).split(' ')
    const [id, secret] = Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent)
    const isRefused =
      issued === undefined ||
      (issued.isUsed && issuer.faults.allowsReplay !== true) ||
      verifier !== issued.query.get('code_challenge') ||
      form.get('redirect_uri') !== issued.query.get('redirect_uri') ||
      id !== CLIENT_ID ||
      secret !== CLIENT_SECRET
    if (isRefused) return send(response, 400, { error: 'invalid_grant' })
    issued.isUsed = true
    const access = randomUUID()
    tokens.set(access, issued.person)
    send(response, 200, { access_token: access, token_type: 'Bearer', expires_in: 300, id_token: tokenOf(issued) })
  }

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://issuer')
    requests.push(pathname)
    if (issuer.faults.status !== undefined) return send(response, issuer.faults.status, { error: 'server_error' })
    if (pathname === '/.well-known/openid-configuration') {
      return send(response, 200, {
        ...{ issuer: issuer.faults.issuer ?? issuer.url, authorization_endpoint: `${issuer.url}/authorize` },
        ...{ token_endpoint: `${issuer.url}/token`, jwks_uri: issuer.faults.keysAt ?? `${issuer.url}/keys` },
        ...{ userinfo_endpoint: `${issuer.url}/userinfo`, response_types_supported: ['code'] },
        ...{ subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['RS256', 'ES256'] },
        ...{ code_challenge_methods_supported: ['S256'] },
      })
    }
    const { keys } = issuer.faults
    if (pathname === '/keys' && keys !== undefined)
      return response.writeHead(keys.status ?? 200, keys.headers).end(keys.text)
    if (pathname === '/keys') return send(response, 200, { keys: [key.jwk] })
    if (pathname === '/token') return void exchange(request, response)
    if (pathname === '/userinfo') {
      const person = tokens.get(String(request.headers.authorization).replace('Bearer ', ''))
      return person === undefined ? send(response, 401, {}) : send(response, 200, person)
    }
    if (pathname !== '/authorize') return send(response, 404, {})
    if (page && request.method === 'GET') {
      const action = request.url!.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
      response.writeHead(200, { 'content-type': 'text/html' })
      return response.end(
        `<title>Test issuer</title><form method="post" action="${action}"><button>Continue as ${issuer.person.email}</button></form>`,
      )
    }
    response.writeHead(303, { location: issuer.authorize(`${issuer.url}${request.url}`) })
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return issuer
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}
