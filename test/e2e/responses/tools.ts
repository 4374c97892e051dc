import type { OutputItem } from '../../fakes/responses-frames.ts'
import type { FarModel } from './responses-server.ts'

const parameters = { type: 'object', properties: { q: { type: 'string' } } }

/** Every kind of tool that is a client's own. */
export const LOOK_UP = { type: 'function', name: 'look_up', description: 'Looks up', parameters, strict: true }
export const PING = { type: 'function', name: 'ping' }
export const PATCH = {
  type: 'custom',
  name: 'patch',
  description: 'Patches',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
}
export const AGENTS = {
  type: 'namespace',
  name: 'agents',
  description: 'Agents',
  tools: [
    { type: 'function', name: 'wait', description: 'Waits', parameters, strict: false },
    { type: 'custom', name: 'note', description: 'Notes' },
  ],
}
export const TOOLS = [LOOK_UP, PING, PATCH, AGENTS]

/** One call of each, by their own names. */
export const CALLS = {
  look_up: { kind: 'function', name: 'look_up', words: ['{"q":', '"Grüße 🙂"}'] },
  ping: { kind: 'function', name: 'ping', words: [] },
  patch: { kind: 'custom', name: 'patch', words: ['*** Begin\n', '+a "quoted" \\ line\t🙂\n'] },
  'agents.wait': { kind: 'function', name: 'wait', namespace: 'agents', words: ['{"q":"', 'a"}'] },
  'agents.note': { kind: 'custom', name: 'note', namespace: 'agents', words: ['free', ' text'] },
} as const satisfies Record<string, OutputItem>

/** What the client has to be told of a call. */
export function itemOfCall({ kind, name, words, ...rest }: Extract<OutputItem, { name: string }>): object {
  const text = words.join('')
  // Clients parse what they are given.
  const emitted =
    kind === 'custom' ? { type: 'custom_tool_call', input: text } : { type: 'function_call', arguments: text || '{}' }
  return { ...emitted, name, ...rest, status: 'completed' }
}

const PATCHES = 'Patches\n\nThe input must match this lark grammar:\nstart: "x"'
const FREE_TEXT = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
}

/** How each lane is told of TOOLS: one that knows nothing but functions gets functions. */
export const DECLARED: Readonly<Record<FarModel, readonly object[]>> = {
  'over-plain': [
    LOOK_UP,
    { ...PING, parameters: { type: 'object', properties: {} }, strict: false },
    functionOf('patch', PATCHES, FREE_TEXT),
    functionOf('agents__wait', 'Waits', parameters),
    functionOf('agents__note', 'Notes', FREE_TEXT),
  ],
  'over-chat': [
    { name: 'look_up', description: 'Looks up', parameters, strict: true },
    { name: 'ping' },
    { name: 'patch', description: PATCHES, parameters: FREE_TEXT },
    { name: 'agents__wait', description: 'Waits', parameters, strict: false },
    { name: 'agents__note', description: 'Notes', parameters: FREE_TEXT },
  ].map((tool) => ({ type: 'function', function: tool })),
  'over-native': TOOLS,
}

function functionOf(name: string, description: string, schema: object): object {
  return { type: 'function', name, description, parameters: schema, strict: false }
}
