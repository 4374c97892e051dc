import type { Lane, Model } from '../../catalog/catalog.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { Demand, OtherInput, PartDemand, TurnRequest } from '../../model/turn.ts'
import { laneDialect } from '../../routing/lane-dialect.ts'
import { clientName } from '../../wire/client-names.ts'

/**
 * The lanes that can do what a request asks for; a problem when a model has some, and none of them can. What merely shapes
 * the words of an answer is left out where a lane does not know it, and named; what makes it another answer is never left out.
 */
export function ableLanes({ id, lanes }: Pick<Model, 'id' | 'lanes'>, request: TurnRequest): readonly Lane[] | Problem {
  if (request.boundTo !== undefined) return lanesOf(request.boundTo, lanes)
  const demands = allDemands(request)
  if (demands.length === 0) return lanes
  const able = lanes.filter((lane) => missing(lane, demands).length === 0)
  if (able.length > 0 || lanes.length === 0) return able
  const [demand] = lanes.flatMap((lane) => missing(lane, demands))
  const part = request.otherInputs.find((other) => partDemand(other) === demand)
  if (part) return withoutAddress(id, part)
  const param = demand === 'response_format' ? clientName('format', request.protocol) : demand
  const message = `\`${param}\` cannot be had from '${id}': none of its providers has anything like it. Leave it out, or choose another model.`
  return problem('unsupported_parameter', message, { param: param ?? null })
}

const missing = (lane: Lane, demands: readonly Demand[]): readonly Demand[] => {
  const { cannot } = laneDialect(lane)
  return cannot.length === 0 ? cannot : demands.filter((demand) => cannot.includes(demand))
}

function withoutAddress(id: string, { kind, param }: OtherInput): Problem {
  const message = `\`${param}\` is an address, and no provider of '${id}' follows it. Millrace fetches nothing: send the ${kind} itself, as a data URL, or choose another model.`
  return problem('unsupported_content', message, { param })
}

/** Who made the conversation short is the only one who can go on from it. */
function lanesOf(origin: string, lanes: readonly Lane[]): readonly Lane[] | Problem {
  const able = lanes.filter((lane) => lane.origin === origin)
  if (able.length > 0) return able
  const message =
    'The compaction in `input` was made by a provider that this model does not run on (any more), and nobody else can read it. Go on with the model that made it, or send the conversation itself.'
  return problem('invalid_encrypted_content', message, { param: 'input' })
}

const allDemands = ({ demands, otherInputs }: TurnRequest): readonly Demand[] => [
  ...demands,
  ...otherInputs.flatMap((part) => partDemand(part) ?? []),
]

function partDemand({ kind, form }: OtherInput): PartDemand | undefined {
  if (form !== 'address' || kind === 'audio') return undefined
  return kind === 'image' ? 'image_url' : 'file_url'
}
