import type { Lane, Model } from '../catalog/catalog.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'

/**
 * The lanes that can do what a request asks for; a problem when there is none. What merely shapes the words of an answer is
 * left out where a lane does not know it, and named; what makes it another answer is never left out.
 */
export function ableLanes({ id, lanes }: Pick<Model, 'id' | 'lanes'>, turn: TurnRequest): readonly Lane[] | Problem {
  if (turn.protocol === 'responses' && turn.boundTo !== undefined) return lanesOf(turn.boundTo, lanes)
  const beyond = fieldsBeyondResponses(turn)
  if (beyond.length === 0) return lanes
  const able = lanes.filter(({ upstream }) => upstream.wire !== 'responses')
  if (able.length > 0 || lanes.length === 0) return able
  const [param] = beyond
  const message = `\`${param}\` cannot be had from '${id}': its providers speak Responses, which has nothing like it. Leave it out, or choose another model.`
  return problem('unsupported_parameter', message, { param: param ?? null })
}

/** Who made the conversation short is the only one who can go on from it. */
function lanesOf(origin: string, lanes: readonly Lane[]): readonly Lane[] | Problem {
  const able = lanes.filter((lane) => lane.origin === origin)
  if (able.length > 0) return able
  const message =
    'The compaction in `input` was made by a provider that this model does not run on (any more), and nobody else can read it. Go on with the model that made it, or send the conversation itself.'
  return problem('invalid_encrypted_content', message, { param: 'input' })
}

/** What of a chat request Responses has no words for, and would change the answer if it were left out. */
function fieldsBeyondResponses(turn: TurnRequest): string[] {
  if (turn.protocol !== 'chat') return []
  return [...(turn.choices > 1 ? ['n'] : []), ...(asksFor(turn, 'stop') ? ['stop'] : [])]
}

function asksFor({ body: { bytes, members } }: TurnRequest, name: string): boolean {
  const member = members.find((candidate) => candidate.name === name)
  if (member === undefined) return false
  const value = bytes.toString('utf8', member.valueStart, member.valueEnd)
  return value !== 'null' && !/^\[\s*\]$/.test(value)
}
