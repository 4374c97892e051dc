import type { Dice, Json } from './dice.ts'
import { errorOf, hugeOf, junkOf, lyingCountOf, lyingIndexOf } from './values.ts'

/** Where a value stands. */
interface Place {
  readonly parent: Json | unknown[]
  readonly key: string
  readonly value: unknown
}

const isParent = (value: unknown): value is Json => typeof value === 'object' && value !== null

function placesIn(parent: Json): Place[] {
  return Object.entries(parent).flatMap(([key, value]) => [
    { parent, key, value },
    ...(isParent(value) ? placesIn(value) : []),
  ])
}

/** As a parser does it: `__proto__` is a name like any other. */
function put(parent: Json | unknown[], key: string, value: unknown): void {
  Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true })
}

function drop({ parent, key }: Place): void {
  if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else delete parent[key]
}

const ODD_NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'length',
  '',
  '0',
  'then',
  'toJSON',
]
const TYPE_NAMES = new Set(['type', 'finish_reason', 'finishReason', 'stop_reason', 'status', 'role', 'name', 'object'])
const TYPE_WORDS = [
  ...[
    'text',
    'thinking',
    'redacted_thinking',
    'tool_use',
    'server_tool_use',
    'compaction',
    'text_delta',
    'ping',
    'error',
  ],
  ...[
    'input_json_delta',
    'thinking_delta',
    'signature_delta',
    'citations_delta',
    'content_block_start',
    'message_stop',
  ],
  ...[
    'message',
    'reasoning',
    'function_call',
    'custom_tool_call',
    'web_search_call',
    'output_text',
    'refusal',
    'custom',
  ],
  ...[
    'stop',
    'length',
    'tool_calls',
    'content_filter',
    'error',
    'eos',
    'abort',
    'function_call',
    'end_turn',
    'max_tokens',
  ],
  ...[
    'STOP',
    'MAX_TOKENS',
    'SAFETY',
    'MALFORMED_FUNCTION_CALL',
    'OTHER',
    'completed',
    'failed',
    'incomplete',
    'nobody',
  ],
  ...['response.completed', 'response.output_text.delta', 'response.output_item.added', '__proto__', 'toString', ''],
]

type Change = (place: Place, dice: Dice, frame: Json) => void

/** What can be wrong with one value of a frame; a list of names narrows down whose. */
const CHANGES: Readonly<Record<string, { readonly of?: (place: Place) => boolean; readonly change: Change }>> = {
  'a field is missing': { change: drop },
  'a field is null': { change: ({ parent, key }) => put(parent, key, null) },
  'a field is junk': { change: ({ parent, key }, dice) => put(parent, key, junkOf(dice)) },
  'a field is in a list': { change: ({ parent, key, value }) => put(parent, key, [value]) },
  'a field is in an object': {
    change: ({ parent, key, value }, { pick }) => put(parent, key, { [pick([key, 'value', 'text'])]: value }),
  },
  'a field stands a level higher': {
    of: ({ value }) => isParent(value) && !Array.isArray(value),
    change(place) {
      drop(place)
      if (!Array.isArray(place.parent))
        for (const [key, value] of Object.entries(place.value as Json)) put(place.parent, key, value)
    },
  },
  'an entry comes twice': {
    of: ({ parent }) => Array.isArray(parent),
    change: ({ parent, key, value }) => (parent as unknown[]).splice(Number(key), 0, structuredClone(value)),
  },
  'an entry is junk': {
    of: ({ parent }) => Array.isArray(parent),
    change: ({ parent, key }, dice) => (parent as unknown[]).splice(Number(key), 0, junkOf(dice)),
  },
  'a number is a text': {
    of: ({ value }) => typeof value === 'number',
    change: ({ parent, key, value }) => put(parent, key, String(value)),
  },
  'a text is no text': {
    of: ({ value }) => typeof value === 'string',
    change: ({ parent, key }, { pick }) =>
      put(parent, key, pick<unknown>([0, 7, false, [], {}, ['a'], { text: 'a' }, { toString: 1 }])),
  },
  'a text is empty': {
    of: ({ value }) => typeof value === 'string',
    change: ({ parent, key }) => put(parent, key, ''),
  },
  'half a character': {
    of: ({ value }) => typeof value === 'string',
    change: ({ parent, key, value }, { pick }) =>
      put(parent, key, pick([`${value}\ud83d`, `\ude42${value}`, '\ud83d'])),
  },
  'an index lies': {
    of: ({ key }) => /index/i.test(key),
    change: ({ parent, key }, dice) => put(parent, key, lyingIndexOf(dice)),
  },
  'a count lies': {
    of: ({ key }) => /token|count/i.test(key),
    change: ({ parent, key }, dice) => put(parent, key, lyingCountOf(dice)),
  },
  'another word of a type': {
    of: ({ key }) => TYPE_NAMES.has(key),
    change: ({ parent, key }, { pick }) => put(parent, key, pick(TYPE_WORDS)),
  },
  'an id of another': {
    of: ({ key }) => key === 'id' || key === 'item_id',
    change: ({ parent, key }, { pick }) => put(parent, key, pick<unknown>(['m', 'f', 'r', '', '__proto__', 7, null])),
  },
  'an odd name': {
    of: ({ parent }) => !Array.isArray(parent),
    change: ({ parent, value }, dice) => put(parent, dice.pick(ODD_NAMES), dice.pick([value, junkOf(dice)])),
  },
  'an unknown field': {
    of: ({ parent }) => !Array.isArray(parent),
    change: ({ parent }, dice) => put(parent, 'unknown_field', junkOf(dice)),
  },
  'a huge value': { change: ({ parent, key }, dice) => put(parent, key, hugeOf(dice)) },
  'two values trade places': {
    change: ({ parent, key, value }, { pick }, frame) => {
      const other = pick(placesIn(frame))
      // Nothing may come to stand inside itself.
      const [one, two] = [structuredClone(value), structuredClone(other.value)]
      put(other.parent, other.key, one)
      put(parent, key, two)
    },
  },
  'an error beside it': { change: (_, dice, frame) => put(frame, 'error', errorOf(dice)) },
}

export const JSON_CHANGES: readonly string[] = Object.keys(CHANGES)

/** Changes one value of the frame, and says how; undefined where nothing in it can be changed that way. */
export function mutateJson(dice: Dice, frame: Json): string | undefined {
  const name = dice.pick(JSON_CHANGES)
  const { of = () => true, change } = CHANGES[name]!
  const places = placesIn(frame).filter(of)
  if (places.length === 0) return undefined
  change(dice.pick(places), dice, frame)
  return name
}
