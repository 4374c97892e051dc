type Random = (below: number) => number

const frame = (type: string, fields: object): Buffer => Buffer.from(`data: ${JSON.stringify({ type, ...fields })}\n\n`)

const IDS = ['m', 'r', 'f', 'g', 'ws']
const STAGES = ['added', 'delta', 'delta', 'done']
const NAMES = [
  ...['output_text', 'refusal', 'reasoning_text', 'reasoning_summary_text', 'function_call_arguments'],
  ...['custom_tool_call_input', 'output_item', 'content_part', 'reasoning_summary_part', 'reasoning', 'nobody'],
]

/** Frames of events that exist, in any order and with anything in them, and one that ends the stream. */
export function randomStream(random: Random): Buffer[] {
  const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)]!
  const junk = (): unknown => pick([undefined, null, 0, 1, 2, -1, 1e9, '', 'm', 'r', 'f', '__proto__', [], {}, true])
  const part = () => ({
    type: pick(['output_text', 'refusal', 'reasoning_text', 'summary_text', 'text', 'image', junk()]),
    text: pick(['a', 'ab', 'abc', '', junk()]),
    refusal: pick(['no', junk()]),
  })
  const item = (): unknown =>
    pick([
      { id: 'm', type: 'message', content: pick([[part(), part()], [part()], 'plain', junk()]), status: junk() },
      { id: 'r', type: 'reasoning', summary: pick([[part()], junk()]), content: [part()], encrypted_content: junk() },
      { id: pick(IDS), type: 'function_call', name: pick(['f', '', junk()]), arguments: pick(['{}', junk()]) },
      { id: pick(IDS), type: 'custom_tool_call', name: 'c', input: pick(['in', junk()]) },
      { id: 'ws', type: 'web_search_call' },
      { id: junk(), type: junk() },
      junk(),
    ])
  const address = () => ({
    item_id: pick([...IDS, junk()]),
    output_index: pick([0, 1, 2, junk()]),
    content_index: pick([0, 1, junk()]),
    summary_index: pick([0, 1, junk(), undefined]),
  })
  const words = () => ({ delta: pick(['a', 'b', 'ab', '', junk()]), text: pick(['ab', junk()]), arguments: 'ab' })
  const said = Array.from({ length: random(14) }, () => {
    const odd = random(20) === 0 ? pick([junk(), 'keepalive', 'response.in_progress']) : undefined
    const type = String(odd ?? `response.${pick(NAMES)}.${pick(STAGES)}`)
    return frame(type, { ...address(), ...words(), part: pick([part(), junk()]), item: item() })
  })
  const end = pick(['response.completed', 'response.completed', 'response.incomplete', 'response.failed', 'error'])
  const response = pick([{ output: [item(), item()] }, { output: junk(), usage: junk() }, {}, junk()])
  return [...said, frame(end, { response, ...words() })]
}
