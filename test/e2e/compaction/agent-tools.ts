import type { Fields } from '../../../src/lib/types.ts'
import type { Facts } from './facts.ts'

const schema = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })

/** As coding agents have them: functions, one of free text, and some in a namespace. */
export const TOOLS: readonly Fields[] = [
  { type: 'function', name: 'read_file', description: 'Reads a file', parameters: schema('path'), strict: false },
  { type: 'custom', name: 'apply_patch', description: 'Changes files' },
  {
    type: 'namespace',
    name: 'notes',
    description: 'Notes',
    tools: [{ type: 'function', name: 'write', description: 'Writes', parameters: schema('text'), strict: false }],
  },
]

export const CHAT_TOOLS: readonly Fields[] = [
  { type: 'function', function: { name: 'read_file', description: 'Reads a file', parameters: schema('path') } },
  { type: 'function', function: { name: 'run', description: 'Runs a command', parameters: schema('command') } },
]

const LINE = 'const grain = mill({ stone: "granite", width: 42 }) // 🌾 ground twice\n'

/** What a tool gives: more and more of it, as in a session that goes deeper. */
export const resultOf = (turn: number, facts: string): string => `${facts}\n${LINE.repeat(20 + Math.floor(turn / 4))}`

/** The results of all calls of an answer, the facts in the first of them. */
export function resultsOf(output: readonly Fields[], turn: number, facts: Pick<Facts, 'toRead'>): Fields[] {
  const calls = output.filter(({ type }) => type === 'function_call' || type === 'custom_tool_call')
  return calls.map(({ type, call_id }, at) => ({
    type: `${type}_output`,
    call_id,
    output: resultOf(turn, at === 0 ? facts.toRead().join('\n') : ''),
  }))
}
