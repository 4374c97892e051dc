import { errorBody } from './chat-frames.ts'
import { type Fault, HTML, refuses, TOO_LONG } from './emit.ts'

const throttles =
  (retryAfter?: string | (() => string)): Fault =>
  (providerAnswer, stage) => {
    const wait = typeof retryAfter === 'function' ? retryAfter() : retryAfter
    const headers: Record<string, string> = wait === undefined ? {} : { 'retry-after': wait }
    return refuses(429, errorBody('Slow down.', { type: 'rate_limit_error' }), headers)(providerAnswer, stage)
  }

const googleBody = (code: number, status: string, detail: object) => ({
  error: { code, message: 'Says Google.', status, details: [detail] },
})

/** Statuses that are no answer. */
export const REFUSALS = {
  redirect: refuses(307, '', { location: 'http://127.0.0.1:1/elsewhere' }),
  compressed: refuses(200, 'x', { 'content-encoding': 'gzip' }),

  'refused-400': refuses(
    400,
    errorBody('temperature must be below 2, says sk-abcdefghijklmnopqrstuv', { param: 'temperature' }),
  ),
  'refused-400-too-long': refuses(400, errorBody(TOO_LONG, { code: 'context_length_exceeded' })),
  'refused-400-credit': refuses(400, {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the Anthropic API.' },
  }),
  'refused-400-key': refuses(400, googleBody(400, 'INVALID_ARGUMENT', { reason: 'API_KEY_INVALID' })),
  'refused-401': refuses(401, errorBody('Incorrect API key provided: sk-abcdefghijklmnopqrstuv')),
  'refused-402': refuses(402, errorBody('Insufficient Balance')),
  'refused-403': refuses(403, errorBody('Forbidden')),
  'refused-403-filter': refuses(403, errorBody('Flagged by content_filter', { code: 'content_filter' })),
  'refused-404': refuses(404, errorBody('The model does not exist', { code: 'model_not_found' })),
  'refused-408': refuses(408),
  'refused-409': refuses(409, errorBody('Another request is at it', { type: 'conflict_error' })),
  'refused-413': refuses(413, errorBody('Too many bytes', { type: 'request_too_large' })),
  'refused-422': refuses(422, { detail: 'messages[0] is wrong' }),
  'refused-429': throttles(),
  'refused-429-seconds': throttles('7'),
  'refused-429-float': throttles('1.5'),
  'refused-429-date': throttles(() => new Date(Date.now() + 3_600_000).toUTCString()),
  'refused-429-past': throttles('Thu, 01 Jan 1970 00:00:00 GMT'),
  'refused-429-negative': throttles('-5'),
  'refused-429-words': throttles('soon'),
  'refused-429-ages': throttles('999999999'),
  'refused-429-quota': refuses(429, errorBody('You exceeded your current quota.', { code: 'insufficient_quota' })),
  'refused-429-in-body': refuses(429, [googleBody(429, 'RESOURCE_EXHAUSTED', { retryDelay: '37s' })]),
  'refused-500': refuses(500, HTML, { 'content-type': 'text/html' }),
  'refused-502': refuses(502, ''),
  'refused-503': refuses(503, errorBody('Service unavailable'), { 'retry-after': '20' }),
  'refused-529': refuses(529, errorBody('Overloaded', { type: 'overloaded_error' })),

  async 'refused-500-broken'(providerAnswer) {
    await providerAnswer.head(500)
    await providerAnswer.bytes('{"error":')
    providerAnswer.close()
  },

  async 'cap-refused'(providerAnswer, stage) {
    const name = 'max_tokens' in providerAnswer.receivedRequest ? 'max_tokens' : 'max_completion_tokens'
    await refuses(400, errorBody(`Unsupported parameter: '${name}'.`, { param: name }))(providerAnswer, stage)
  },
} as const satisfies Record<string, Fault>
