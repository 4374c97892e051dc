import { wholeSeconds } from '../lib/clock.ts'
import { receiveForm } from './json-route.ts'
import { refuseUnknownPath } from './paths.ts'
import type { RequestContext } from './request-context.ts'
import { type Headers, sendJson, sendProblem } from './respond.ts'

/** A token takes 2 KiB at GitHub and GitLab. */
const FORM_BYTES_MAX = 64 * 1024

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const SUBJECT_TYPES: ReadonlySet<string> = new Set([
  'urn:ietf:params:oauth:token-type:jwt',
  'urn:ietf:params:oauth:token-type:id_token',
])
/** Errors have to be read without a cache, as the key (RFC 6749, section 5.1). */
const NO_STORE = { 'cache-control': 'no-store' }
const AGAIN_SECONDS = 5

/** `POST /oauth/token`: the key of a CI job for its token, as RFC 8693 has it. Its errors are those of OAuth. */
export async function exchangeToken(context: RequestContext): Promise<void> {
  const { edge, request, log } = context
  if (!edge.jobKeys.isOffered) return sendProblem(context, refuseUnknownPath('POST', context.path, []))
  const form = await receiveForm(context, { bytesMax: FORM_BYTES_MAX })
  switch (form.kind) {
    case 'disconnected':
      return
    case 'broken':
      return sendProblem(context, form.problem)
    case 'too-large':
      return refuse(context, 413, 'invalid_request', `The form is larger than ${FORM_BYTES_MAX} bytes.`)
  }
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? ''))
    return refuse(context, 400, 'invalid_request', 'Send the fields as application/x-www-form-urlencoded.')
  const read = readFields(form.bytes)
  if (read.kind === 'refused') return refuse(context, 400, read.error, read.message)
  const exchanged = await edge.jobKeys.exchange(read.token)
  if (exchanged.kind === 'refused') {
    if (exchanged.why === 'unavailable') return refuseForNow(context, exchanged.message)
    const waitMs = takeFromAddress(context)
    if (waitMs === undefined) return refuse(context, 400, 'invalid_request', exchanged.message)
    const headers = { 'retry-after': String(wholeSeconds(waitMs)) }
    return refuse(context, 429, 'temporarily_unavailable', 'Too many invalid tokens from this address.', headers)
  }
  log.account_id = exchanged.accountId
  log.key_id = exchanged.keyId
  const expiresIn = Math.max(0, Math.floor((exchanged.expiresAt - edge.clock.now()) / 1000))
  const answer = {
    ...{ access_token: exchanged.token, issued_token_type: ACCESS_TOKEN, token_type: 'Bearer' },
    ...{ expires_in: expiresIn, run: exchanged.run },
  }
  sendJson(context, 200, answer, NO_STORE)
}

/** More than the standard has. */
const FIELDS_MAX = 20

type ReadFields =
  | { readonly kind: 'read'; readonly token: string }
  | { readonly kind: 'refused'; readonly error: string; readonly message: string }

function readFields(bytes: Buffer): ReadFields {
  const form = new URLSearchParams(bytes.toString('utf8'))
  const refused = (error: string, message: string) => ({ kind: 'refused', error, message }) as const
  const names = [...form.keys()]
  if (names.length > FIELDS_MAX) return refused('invalid_request', `The form has more than ${FIELDS_MAX} fields.`)
  if (new Set(names).size < names.length) return refused('invalid_request', 'A field was sent more than once.')
  const field = (name: string) => form.get(name) ?? ''
  if (field('grant_type') !== TOKEN_EXCHANGE)
    return refused('unsupported_grant_type', `The only grant_type is ${TOKEN_EXCHANGE}.`)
  if (!SUBJECT_TYPES.has(field('subject_token_type')))
    return refused('invalid_request', `subject_token_type is not one of ${[...SUBJECT_TYPES].join(', ')}.`)
  if (!['', ACCESS_TOKEN].includes(field('requested_token_type')))
    return refused('invalid_request', `The only requested_token_type is ${ACCESS_TOKEN}.`)
  if (field('actor_token') !== '') return refused('invalid_request', 'There is no actor_token here. Leave it out.')
  if (field('scope') !== '')
    return refused(
      'invalid_scope',
      'There are no scopes: the key of the rule says what the job may do. Leave scope out.',
    )
  if (field('audience') !== '' || field('resource') !== '')
    return refused('invalid_target', 'The key is for this server only. Leave audience and resource out.')
  const token = field('subject_token')
  return token === '' ? refused('invalid_request', 'subject_token is missing.') : { kind: 'read', token }
}

/** As for requests without a valid key, the token is checked first: jobs share addresses with strangers. */
function takeFromAddress({ edge, request }: RequestContext): number | undefined {
  const address = edge.findClientAddress(request)
  const taken = address === undefined ? undefined : edge.unauthenticatedLimiter.take(address)
  return taken?.kind === 'refused' ? taken.waitMs : undefined
}

const refuseForNow = (context: RequestContext, message: string): void =>
  refuse(context, 503, 'temporarily_unavailable', message, { 'retry-after': String(AGAIN_SECONDS) })

function refuse(context: RequestContext, status: number, error: string, message: string, headers: Headers = {}): void {
  context.log.code = error
  sendJson(context, status, { error, error_description: message }, { ...NO_STORE, ...headers })
}
