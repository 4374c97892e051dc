type Random = (below: number) => number
type Json = Record<string, unknown>

const WORDS = [
  ...['a', ' the', ' wheel', ' longer words than most', '', '漢字 🦜', 'é', 'naïve café', '\u0000\n\t"\\/', '\ud83d'],
  ...['\ude42', '\u2028', '"delta":"x"', '"content":"x"', 'data: [DONE]\n\n', 'stopgap for words', '\u007f', '$&$1'],
]
const ENDS = ['\n\n', '\n\n', '\r\n\r\n']
const SPELLINGS = ['plain', 'plain', 'plain', 'escaped', 'slashes', 'spaced', 'latin1', 'raw', 'nulls'] as const
const SHAPES = [
  'plain',
  'plain',
  'padded',
  'odd-padding',
  'numbered',
  'both',
  'twice',
  'nested',
  'unknown',
  'logprobs',
] as const

/** How one server writes: the same from frame to frame. */
interface Style {
  readonly end: string
  readonly spelling: (typeof SPELLINGS)[number]
  readonly shape: (typeof SHAPES)[number]
}

export interface Streams {
  readonly random: Random
  /** A stream whose frames come in runs of one kind, with something else in between. */
  responses(): Buffer[]
  chat(): Buffer[]
  anthropic(): Buffer[]
}

export function alikeStreams(random: Random): Streams {
  const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)]!
  const words = () => (random(3) === 0 ? pick(WORDS) : WORDS[random(4)]!)
  const style = (): Style => ({ end: pick(ENDS), spelling: pick(SPELLINGS), shape: pick(SHAPES) })
  let number = 0

  const shaped = (fields: Json, { shape }: Style): Json => {
    number += 1
    const padding = 'abcdefgh'.slice(random(8))
    if (shape === 'padded') return { ...fields, obfuscation: padding }
    if (shape === 'odd-padding') return { ...fields, obfuscation: pick(['"', '\\', padding, 'é']) }
    if (shape === 'numbered') return { sequence_number: number, ...fields }
    if (shape === 'both') return { ...fields, obfuscation: padding, sequence_number: number }
    if (shape === 'unknown') return { ...fields, unknown: { näme: [1] } }
    if (shape === 'nested') return { inner: { delta: fields.delta, sequence_number: number, content: 'a' }, ...fields }
    return fields
  }
  const written = (fields: Json, { end, spelling, shape }: Style, type?: string): Buffer => {
    let json = JSON.stringify(fields)
    if (shape === 'twice') json = json.replace(/"(delta|content)":/, '"$1":"first","$1":')
    if (spelling === 'escaped')
      json = json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    if (spelling === 'slashes') json = json.replaceAll('/', '\\/')
    if (spelling === 'spaced') json = json.replaceAll('":', '": ')
    if (spelling === 'raw' && random(4) === 0) json = json.replace(/"(delta|content)":"/, '"$1":"\u0007')
    if (spelling === 'nulls' && random(4) === 0) json = json.replace(/"sequence_number":/, '"sequence_number":0')
    const text = `${type === undefined ? '' : `event: ${type}${end.slice(0, end.length / 2)}`}data: ${json}${end}`
    return spelling === 'latin1' ? Buffer.from(text, 'latin1') : Buffer.from(text)
  }
  const runs = (run: () => Buffer[]): Buffer[] => Array.from({ length: 1 + random(6) }, run).flat()
  const some = (of: () => Buffer): Buffer[] => Array.from({ length: 1 + random(12) }, of)

  return {
    random,
    responses() {
      const all = runs(() => {
        const how = style()
        const [item, index] = pick([
          ['m', 0],
          ['r', 1],
          ['f', 2],
          ['g', 3],
          [undefined, undefined],
        ] as const)
        const name = pick([
          'output_text',
          'output_text',
          'refusal',
          'reasoning_text',
          'reasoning_summary_text',
          'function_call_arguments',
          'custom_tool_call_input',
        ])
        const kind = { m: 'message', r: 'reasoning', f: 'function_call', g: 'custom_tool_call' }[item ?? 'm']
        const place = { item_id: item, output_index: index, content_index: pick([0, 0, undefined]) }
        const announced = { id: item, type: kind, name: pick(['call', 'f', '']) }
        const type = `response.${name}.delta`
        const logprobs = how.shape === 'logprobs' ? [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }] : []
        const delta = () =>
          written(
            shaped({ type, ...place, delta: words(), ...(random(2) ? { logprobs } : { logprobs: [] }) }, how),
            how,
            type,
          )
        const same = () => written(shaped({ type, ...place, delta: words(), logprobs }, how), how, type)
        const structure = (stage: string) =>
          written({ type: `response.output_item.${stage}`, output_index: index, item: announced }, how)
        return [
          ...(random(2) ? [structure('added')] : []),
          ...some(pick([same, same, delta])),
          ...(random(3)
            ? []
            : [pick([structure('done'), Buffer.from(': ping\n\n'), Buffer.from('data: {"type":"nobody"}\n\n')])]),
        ]
      })
      const end = pick(['completed', 'completed', 'completed', 'incomplete', 'failed'])
      return [...all, written({ type: `response.${end}`, response: { output: [] } }, style())]
    },
    chat() {
      const all = runs(() => {
        const how = style()
        const deltaOf = pick<(text: string) => Json>([
          (content) => ({ content }),
          (content) => ({ content }),
          (content) => ({ role: 'assistant', content, refusal: null }),
          (reasoning_content) => ({ content: null, reasoning_content }),
          (reasoning) => ({ content: '', reasoning }),
          (reasoning) => ({ reasoning, reasoning_content: reasoning }),
          (reasoning) => ({ reasoning, reasoning_details: [{ type: 'reasoning.text', text: reasoning }] }),
          (refusal) => ({ refusal }),
          (content) => ({ content, tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: content } }] }),
          (written) => ({ tool_calls: [{ index: 0, function: { arguments: written } }] }),
          (content) => ({ content: [{ type: 'text', text: content }] }),
        ])
        const logprobs = how.shape === 'logprobs' ? { content: [{ token: 'a', logprob: -1 }] } : null
        const chunk = () => {
          const choice = {
            index: how.shape === 'unknown' ? 1 : 0,
            delta: deltaOf(words()),
            logprobs,
            finish_reason: null,
          }
          return written(shaped({ id: 'c1', model: 'lane', choices: [choice], usage: null }, how), how)
        }
        return [...some(chunk), ...(random(3) ? [] : [Buffer.from(': ping\n\n')])]
      })
      const last = { choices: [{ index: 0, delta: {}, finish_reason: pick(['stop', 'length']) }] }
      return [...all, written(last, style()), Buffer.from('data: [DONE]\n\n')]
    },
    anthropic() {
      const all = runs(() => {
        const how = style()
        const index = random(3)
        const [announced, deltaOf] = pick<readonly [Json, (said: string) => Json]>([
          [{ type: 'text', text: '' }, (text) => ({ type: 'text_delta', text })],
          [{ type: 'text', text: '' }, (text) => ({ type: 'text_delta', text })],
          [{ type: 'thinking', thinking: '', signature: '' }, (thinking) => ({ type: 'thinking_delta', thinking })],
          [{ type: 'tool_use', id: 'a', name: pick(['call', 'f', 'g']), input: {} }, inputDelta],
          [{ type: 'text', text: '' }, (text) => ({ type: 'citations_delta', citation: { cited_text: text }, text })],
        ])
        const said = () =>
          written(
            shaped({ type: 'content_block_delta', index, delta: deltaOf(words()) }, how),
            how,
            'content_block_delta',
          )
        const signed = { type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: 'S' } }
        return [
          ...(random(4) ? [written({ type: 'content_block_start', index, content_block: announced }, how)] : []),
          ...some(said),
          ...(random(2) ? [written(signed, how)] : []),
          ...(random(3) ? [written({ type: 'content_block_stop', index }, how)] : [Buffer.from(': ping\n\n')]),
        ]
      })
      const usage = { input_tokens: 9, output_tokens: 5 }
      const last = {
        type: 'message_delta',
        delta: { stop_reason: pick(['end_turn', 'max_tokens', 'tool_use']) },
        usage,
      }
      return [...all, written(last, style()), written({ type: 'message_stop' }, style())]
    },
  }
}

const inputDelta = (partial_json: string): Json => ({ type: 'input_json_delta', partial_json })

/** A stream as reads may cut it. */
export function cutAnywhere(random: Random, whole: Buffer): Buffer[] {
  const places = Array.from({ length: random(8) }, () => random(whole.length + 1))
  const ends = [...new Set(places)].sort((a, b) => a - b)
  return [0, ...ends].map((start, at) => whole.subarray(start, ends[at] ?? whole.length))
}
