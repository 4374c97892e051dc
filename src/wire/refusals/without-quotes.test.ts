import { describe, expect, it } from 'vitest'
import { withoutQuotes } from './without-quotes.ts'

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
