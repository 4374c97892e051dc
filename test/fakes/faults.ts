import type { Fault, Stage } from './emit.ts'
import { FAILURES } from './failures.ts'
import type { Script } from './fault-upstream.ts'
import { ODDITIES } from './oddities.ts'
import { REFUSALS } from './refusals.ts'

/** Everything that a provider is known to do wrong, by name. */
export const FAULTS = { ...FAILURES, ...REFUSALS, ...ODDITIES }

export type FaultName = keyof typeof FAULTS

/** How lanes name a fault: the part of the answer where it comes stands behind the last dot. */
export const laneModel = (fault: FaultName, stage: Stage): string => `${fault}.${stage}`

/** The script of a lane's model. */
export function scriptOfModel(model: string): Script | undefined {
  const [name = '', stage] = model.split('.')
  const fault = (FAULTS as Readonly<Record<string, Fault>>)[name]
  return fault && ((providerAnswer) => fault(providerAnswer, stage === 'after' ? 'after' : 'before'))
}
