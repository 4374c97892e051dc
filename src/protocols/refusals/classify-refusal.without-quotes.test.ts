import { describe, expect, it } from 'vitest'
import { inside, read } from '../../../test/fixtures/protocols/refusals/refusals.ts'
import { classifyRefusal, isCertain, type RefusalClass, withoutQuotes } from './provider-error.ts'

describe('a sentence of a provider', () => {
  it.each([
    ["Invalid value: 'insufficient_quota'.", "Invalid value: ''."],
    ['Input should be a number, input: "rate limit"', 'Input should be a number, input: ""'],
    ['`billing` is no `word`', '`` is no ``'],
    ['«rate limit», “rate limit” and ‘rate limit’', '«», “” and ‘’'],
    [String.raw`It was "she said \"rate limit\" twice", they say`, 'It was "", they say'],
    ["It was 'it's a rate limit', they say", "It was '', they say"],
    ["Unknown: 'it was cut off before the rate li", "Unknown: ''"],
    ['Unknown: "it was cut off after \\', 'Unknown: ""'],
    [
      "1 validation error\n  Bad [type=int, input_value={'a': 'rate limit', 'b': 7}, input_type=dict] For more",
      '1 validation error\n  Bad [type=int,  ] For more',
    ],
    ["Bad [input_value=[1, 'rate limi...", 'Bad [ '],
    ["[{'type': 'missing', 'input': {'x': rate limit, 'y'", "[{'': '', ''"],
    ['It says: {"message": "prompt is \\"rate limit\\" too long"}', 'It says: { prompt is "" too long }'],
    ["{'error': {'message': \"A model's rate\", 'input': 'rate limit'}}", "{'': { A model's rate , ''"],
    ['', ''],
  ])('keeps its own words only: %s', (message, left) => {
    expect(withoutQuotes(message)).toBe(left)
  })

  it('has apostrophes, which quote nothing', () => {
    const message = "This model's context isn't that long; the models' words stay, and don't say otherwise"
    expect(withoutQuotes(message)).toBe(message)
  })

  it('takes no longer for the worst there is room for', () => {
    for (const piece of [`'`, `"`, '\\', `"message":"`, 'input_value=', `'a`, `'\\'`, '`«']) {
      expect(withoutQuotes(piece.repeat(1000)).length).toBeLessThanOrEqual(piece.length * 1000 + 2)
    }
  })
})

/** What would make a refusal one of each class, if the provider said so itself. */
const WORDS: Readonly<Record<Exclude<RefusalClass, 'rejected' | 'failed' | 'too-large' | 'not-found'>, string>> = {
  'too-long': "This model's maximum context length is 8192 tokens: prompt is too long",
  'unsupported-field': 'Image input is not supported by this model',
  filtered: 'blocked by content_filter, moderation, prohibited_content',
  credential: 'insufficient_quota: your credit balance is too low, api key expired, enable billing',
  throttled: 'rate limit, too many requests, resource exhausted, slow down',
}

describe('a refusal that quotes what its client has written', () => {
  const QUOTATIONS: readonly ((words: string) => object)[] = [
    (words) => ({ error: { message: `Invalid value: '${words}'.`, type: 'invalid_request_error' } }),
    (words) => ({ error: { message: `messages.0: Input should be a list, input: ${JSON.stringify(words)}` } }),
    (words) => ({ message: `Wrong role: \`${words}\``, type: 'BadRequestError', code: 400 }),
    (words) => ({ message: `No role «${words}», “${words}”`, type: 'BadRequestError', code: 400 }),
    (words) => ({ message: `1 error [type=int, input_value={'x': ${JSON.stringify(words)}}, input_type=dict]` }),
    (words) => ({ error: { message: `[{'type': 'int', 'msg': 'No', 'input': {'x': ${words}}}]` } }),
    (words) => ({ error: { message: `Cannot read {"message":"Bad","text":${JSON.stringify(words)}}` } }),
    (words) => ({ error: { message: `Invalid value: '${words.padEnd(2000, '.')}'` } }),
  ]

  describe.each(Object.entries(WORDS))('that sounds like %s', (means, words) => {
    it('would be that in the provider’s own message', () => {
      expect(classifyRefusal(inside(words))).toBe(means === 'unsupported-field' ? 'failed' : means)
      if (means !== 'throttled') expect(classifyRefusal(read(400, { error: words }))).toBe(means)
    })

    it.each(QUOTATIONS.map((quoting) => quoting(words)))('is rejected all the same: %j', (body) => {
      expect(classifyRefusal(read(400, body))).toBe('rejected')
      expect(classifyRefusal(read(422, body))).toBe('rejected')
    })

    it.each(QUOTATIONS.map((quoting) => quoting(words)))(
      'is nothing about the lane inside of an answer: %j',
      (body) => {
        const error = inside('error' in body ? body.error : body)
        expect(['failed', 'rejected']).toContain(classifyRefusal(error))
      },
    )
  })

  it.each(['credential', 'throttled'] as const)(
    'is never certainly %s, not even where it ends the quotation itself',
    (means) => {
      const message = `Invalid value: 'x' ${WORDS[means]} 'y'`
      for (const error of [
        read(400, { error: { message } }),
        read(400, message),
        inside(message),
        inside({ message }),
      ]) {
        if (classifyRefusal(error) === means) expect(isCertain(error)).toBe(false)
      }
      expect(classifyRefusal(inside(message))).toBe(means)
    },
  )
})
