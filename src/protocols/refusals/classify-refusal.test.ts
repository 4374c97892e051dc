import { describe, expect, it } from 'vitest'
import {
  anthropic,
  FASTAPI,
  google,
  HTML,
  inside,
  read,
  reason,
  SPENT,
  TOO_LOW,
} from '../../../test/fixtures/protocols/refusals/refusals.ts'
import { classifyRefusal, isCertain, type RefusalClass } from './provider-error.ts'

type Row = readonly [status: number, body: object | string, means: RefusalClass, code: string | undefined]

describe('a refusal of Anthropic', () => {
  it.each<Row>([
    [400, anthropic('invalid_request_error', 'messages: at least one message is required'), 'rejected', undefined],
    [400, anthropic('invalid_request_error', TOO_LOW), 'credential', undefined],
    [400, anthropic('invalid_request_error', SPENT), 'credential', undefined],
    [
      400,
      anthropic('invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum'),
      'too-long',
      undefined,
    ],
    [
      400,
      anthropic('invalid_request_error', 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000'),
      'too-long',
      undefined,
    ],
    [400, anthropic('invalid_request_error', 'Output blocked by content filtering policy'), 'filtered', undefined],
    [
      400,
      anthropic(
        'invalid_request_error',
        'messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks',
      ),
      'rejected',
      undefined,
    ],
    [401, anthropic('authentication_error', 'invalid x-api-key'), 'credential', 'authentication_error'],
    [402, anthropic('billing_error'), 'credential', 'billing_error'],
    [403, anthropic('permission_error'), 'credential', 'permission_error'],
    [404, anthropic('not_found_error', 'model: claude-nothing'), 'not-found', 'not_found_error'],
    [409, anthropic('conflict_error'), 'failed', 'conflict_error'],
    [413, anthropic('request_too_large', 'Request exceeds the maximum size'), 'too-large', 'request_too_large'],
    [429, anthropic('rate_limit_error'), 'throttled', 'rate_limit_error'],
    [500, anthropic('api_error', 'Internal server error'), 'failed', 'api_error'],
    [504, anthropic('timeout_error'), 'failed', 'timeout_error'],
    [529, anthropic('overloaded_error', 'Overloaded'), 'failed', 'overloaded_error'],
  ])('%s %j: %s', (status, body, means, code) => {
    const error = read(status, body)
    expect(classifyRefusal(error)).toBe(means)
    if (code !== undefined) expect(error.code).toBe(code)
  })

  it.each<[string, string, RefusalClass]>([
    ['overloaded_error', 'Overloaded', 'failed'],
    ['api_error', 'Internal server error', 'failed'],
    ['timeout_error', 'Took too long.', 'failed'],
    ['rate_limit_error', 'Slow.', 'throttled'],
    ['invalid_request_error', 'max_tokens: 9 > 8', 'rejected'],
    ['invalid_request_error', TOO_LOW, 'credential'],
    ['invalid_request_error', 'prompt is too long: 2 tokens > 1 maximum', 'too-long'],
    ['authentication_error', 'No.', 'credential'],
    ['permission_error', 'No.', 'credential'],
    ['billing_error', 'No.', 'credential'],
    ['not_found_error', 'model: x', 'not-found'],
    ['request_too_large', 'No.', 'too-large'],
    ['a_new_one', 'No.', 'failed'],
  ])('inside an answer of 200: %s, %s: %s', (type, message, means) => {
    expect(classifyRefusal(inside({ type, message }))).toBe(means)
  })
})

describe('a refusal of Gemini', () => {
  it.each<Row>([
    [400, google(400, 'INVALID_ARGUMENT', 'Please use a valid role: user, model.'), 'rejected', 'INVALID_ARGUMENT'],
    [
      400,
      google(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [reason('API_KEY_INVALID')]),
      'credential',
      'API_KEY_INVALID',
    ],
    [400, google(400, 'INVALID_ARGUMENT', 'No.', [reason('API_KEY_INVALID')]), 'credential', 'API_KEY_INVALID'],
    [400, google(400, 'INVALID_ARGUMENT', 'API key expired. Please renew it.'), 'credential', 'INVALID_ARGUMENT'],
    [
      400,
      google(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.'),
      'credential',
      'FAILED_PRECONDITION',
    ],
    [400, google(400, 'FAILED_PRECONDITION'), 'rejected', 'FAILED_PRECONDITION'],
    [400, google(400, 'OUT_OF_RANGE'), 'rejected', 'OUT_OF_RANGE'],
    [
      400,
      google(
        400,
        'INVALID_ARGUMENT',
        'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      ),
      'too-long',
      'INVALID_ARGUMENT',
    ],
    [
      400,
      google(400, 'INVALID_ARGUMENT', 'Function calling is not enabled for models/gemma-3-27b-it'),
      'unsupported-field',
      'INVALID_ARGUMENT',
    ],
    [401, google(401, 'UNAUTHENTICATED'), 'credential', 'UNAUTHENTICATED'],
    [403, google(403, 'PERMISSION_DENIED'), 'credential', 'PERMISSION_DENIED'],
    [404, google(404, 'NOT_FOUND', 'models/gemini-0 is not found for API version v1beta'), 'not-found', 'NOT_FOUND'],
    [409, google(409, 'ABORTED'), 'failed', 'ABORTED'],
    [
      429,
      google(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.'),
      'throttled',
      'RESOURCE_EXHAUSTED',
    ],
    [499, google(499, 'CANCELLED'), 'failed', 'CANCELLED'],
    [500, google(500, 'INTERNAL'), 'failed', 'INTERNAL'],
    [500, google(500, 'UNKNOWN'), 'failed', 'UNKNOWN'],
    [501, google(501, 'UNIMPLEMENTED'), 'failed', 'UNIMPLEMENTED'],
    [503, google(503, 'UNAVAILABLE', 'The model is overloaded.'), 'failed', 'UNAVAILABLE'],
    [504, google(504, 'DEADLINE_EXCEEDED'), 'failed', 'DEADLINE_EXCEEDED'],
  ])('%s %j: %s', (status, body, means, code) => {
    for (const error of [read(status, body), read(status, [body])]) {
      expect([classifyRefusal(error), error.code]).toEqual([means, code])
    }
  })

  it.each<[number, string, RefusalClass]>([
    [503, 'UNAVAILABLE', 'failed'],
    [429, 'RESOURCE_EXHAUSTED', 'throttled'],
    [500, 'INTERNAL', 'failed'],
    [504, 'DEADLINE_EXCEEDED', 'failed'],
    [499, 'CANCELLED', 'failed'],
    [400, 'INVALID_ARGUMENT', 'rejected'],
    [403, 'PERMISSION_DENIED', 'credential'],
    [401, 'UNAUTHENTICATED', 'credential'],
    [404, 'NOT_FOUND', 'not-found'],
  ])('inside an answer of 200: %s %s: %s', (code, status, means) => {
    const error = inside(google(code, status, 'The provider could not go on.').error)
    expect([classifyRefusal(error), error.code]).toEqual([means, status])
  })
})

const EXTRA = [{ type: 'extra_forbidden', loc: ['body', 'seed'], msg: 'Extra inputs are not permitted', input: 7 }]

describe('a refusal of a server that is like OpenAI’s', () => {
  it.each<Row>([
    [422, FASTAPI, 'rejected', 'missing'],
    [422, { detail: EXTRA }, 'unsupported-field', 'extra_forbidden'],
    [
      422,
      { object: 'error', message: { detail: EXTRA }, type: 'invalid_request_error' },
      'unsupported-field',
      undefined,
    ],
    [400, { detail: 'messages[0] is wrong' }, 'rejected', undefined],
    [400, { error: 'model is required' }, 'rejected', undefined],
    [400, { object: 'error', message: 'Bad.', type: 'BadRequestError', param: null, code: 400 }, 'rejected', undefined],
    [404, { object: 'error', message: 'Gone.', type: 'NotFoundError', code: 404 }, 'not-found', 'NotFoundError'],
    [400, { error: { code: 400, message: 'maximum context length is 8192 tokens' } }, 'too-long', '400'],
    [400, { error: { message: 'x', type: 'exceed_context_size_error', code: 400 } }, 'too-long', undefined],
    [
      400,
      { error: { code: 'content_filter', status: 400, message: 'The response was filtered' } },
      'filtered',
      undefined,
    ],
    [401, { statusCode: 401, message: 'Access denied due to missing subscription key.' }, 'credential', undefined],
    [404, { error: { code: 'DeploymentNotFound', message: 'Does not exist.' } }, 'not-found', 'DeploymentNotFound'],
    [404, HTML, 'not-found', undefined],
    [405, HTML, 'not-found', undefined],
    [502, HTML, 'failed', undefined],
    [400, HTML, 'rejected', undefined],
    [418, '', 'failed', undefined],
    [
      400,
      {
        error: {
          message: 'Failed to call a function. Please adjust your prompt.',
          type: 'invalid_request_error',
          code: 'tool_use_failed',
          failed_generation: '<function=rm>',
        },
      },
      'rejected',
      'tool_use_failed',
    ],
    [
      413,
      { error: { message: 'Request too large on tokens per minute.', type: 'tokens', code: 'rate_limit_exceeded' } },
      'throttled',
      'rate_limit_exceeded',
    ],
    [402, { error: { message: 'Insufficient Balance', code: 'invalid_request_error' } }, 'credential', undefined],
    [403, { error: { code: 403, message: 'Flagged', metadata: { reasons: ['violence'] } } }, 'credential', '403'],
    [429, { error: { message: 'No.', type: 'insufficient_quota', code: null } }, 'credential', 'insufficient_quota'],
    [400, { code: 'Arrearage', message: 'Access denied' }, 'credential', 'Arrearage'],
    [400, { error: '"registry/gemma" does not support tools' }, 'unsupported-field', undefined],
    [400, { errors: [{ message: 'AiError: bad input', code: 5007 }], success: false }, 'rejected', undefined],
  ])('%s %j: %s', (status, body, means, code) => {
    const error = read(status, body)
    expect(classifyRefusal(error)).toBe(means)
    if (code !== undefined) expect(error.code).toBe(code)
  })

  it.each<[object | string, RefusalClass]>([
    [{ code: 502, message: 'Provider returned error' }, 'failed'],
    [{ code: '429', message: 'Later.' }, 'throttled'],
    [{ code: 402, message: 'Pay.' }, 'credential'],
    [{ code: 400, message: 'Wrong.', type: 'BadRequestError' }, 'rejected'],
    [{ code: 400, message: 'Wrong.' }, 'rejected'],
    [
      { message: 'You exceeded your current quota.', type: 'insufficient_quota', code: 'insufficient_quota' },
      'credential',
    ],
    ['It went wrong.', 'failed'],
  ])('inside an answer of 200: %j: %s', (error, means) => {
    expect(classifyRefusal(inside(error))).toBe(means)
  })
})

describe('what a refusal means is certain', () => {
  it.each<[ReturnType<typeof read>, RefusalClass]>([
    [read(401, {}), 'credential'],
    [read(402, {}), 'credential'],
    [read(403, HTML), 'credential'],
    [read(407, ''), 'credential'],
    [read(429, 'Later.'), 'throttled'],
    [read(429, { error: { type: 'insufficient_quota' } }), 'credential'],
    [read(400, { code: 'Arrearage' }), 'credential'],
    [read(400, google(400, 'INVALID_ARGUMENT', 'No.', [reason('API_KEY_INVALID')])), 'credential'],
    [read(400, { error: { message: TOO_LOW, code: 'insufficient_quota' } }), 'credential'],
    [read(413, { error: { code: 'rate_limit_exceeded' } }), 'throttled'],
    [read(400, { error: { code: 'context_length_exceeded', message: 'No.' } }), 'too-long'],
    [read(400, { error: { code: 'unsupported_parameter', param: 'seed' } }), 'unsupported-field'],
    [read(400, { error: { message: 'Bad.' } }), 'rejected'],
    [read(500, HTML), 'failed'],
    [read(503, { error: { message: 'rate limit' } }), 'failed'],
    [read(529, anthropic('overloaded_error')), 'failed'],
    [inside({ code: 429, message: 'No.' }), 'throttled'],
    [inside({ type: 'rate_limit_error', message: 'No.' }), 'throttled'],
    [inside({ type: 'overloaded_error', message: 'No.' }), 'failed'],
  ])('where a status or a code says so: %j: %s', (error, means) => {
    expect([classifyRefusal(error), isCertain(error)]).toEqual([means, true])
  })

  it.each<[ReturnType<typeof read>, RefusalClass]>([
    [read(400, anthropic('invalid_request_error', TOO_LOW)), 'credential'],
    [read(400, google(400, 'INVALID_ARGUMENT', 'API key expired. Please renew it.')), 'credential'],
    [read(400, { error: 'prompt is too long' }), 'too-long'],
    [read(400, { error: "Unknown parameter: 'seed'." }), 'unsupported-field'],
    [read(400, { error: 'Flagged by moderation' }), 'filtered'],
    [read(418, ''), 'failed'],
    [inside('You have hit a rate limit.'), 'throttled'],
    [inside('It went wrong.'), 'failed'],
  ])('and not where only a sentence does: %j: %s', (error, means) => {
    expect([classifyRefusal(error), isCertain(error)]).toEqual([means, false])
  })
})

describe('a refusal of a cloud', () => {
  it.each<Row>([
    [400, { error: { message: 'No.', code: 'model_not_supported' } }, 'not-found', 'model_not_supported'],
    [400, { error: { message: 'No.', code: 'unsupported_api_for_model' } }, 'not-found', undefined],
    [
      400,
      {
        error: {
          message: 'prompt token count of 140012 exceeds the limit of 128000',
          code: 'model_max_prompt_tokens_exceeded',
        },
      },
      'too-long',
      'model_max_prompt_tokens_exceeded',
    ],
    [401, 'unauthorized: token expired', 'credential', undefined],
    [429, { error: { message: 'No.', code: 'rate_limited' } }, 'throttled', 'rate_limited'],
    [401, [google(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')], 'credential', undefined],
    [429, [google(429, 'RESOURCE_EXHAUSTED')], 'throttled', 'RESOURCE_EXHAUSTED'],
    [403, { Message: 'User: arn:aws:iam::1:user/x is not authorized to perform' }, 'credential', undefined],
    [400, { message: 'Input is too long for requested model.' }, 'too-long', undefined],
    [400, { Message: 'Input is too long for requested model.' }, 'too-long', undefined],
    [429, { message: 'Too many requests, please wait before trying again.' }, 'throttled', undefined],
    [402, { error: { message: 'Insufficient funds.', type: 'insufficient_funds' } }, 'credential', undefined],
  ])('%s %j: %s', (status, body, means, code) => {
    const error = read(status, body)
    expect(classifyRefusal(error)).toBe(means)
    if (code !== undefined) expect(error.code).toBe(code)
  })
})
