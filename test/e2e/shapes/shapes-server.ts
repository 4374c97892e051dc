import { type Fields, isObject } from '../../../src/lib/types.ts'
import { LANES, type LaneCase, type LaneSetup, useLanes } from '../../sdks/lanes.ts'

export { LANES, type LaneSetup }

/** One more model on each lane for every way in which a catalogue can speak of efforts. */
const graded = (lane: LaneCase): string => `${lane.model}-graded`
const plain = (lane: LaneCase): string => `${lane.model}-plain`

const entry = (id: string, efforts: string, { model }: LaneCase): string =>
  `  - { id: ${id}, efforts: [${efforts}], context_tokens: 128000, max_output_tokens: 8192, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: ${model}, model: ${model === 'demo' ? 'demo-fast' : 'whole'} }] }\n`

const MORE = LANES.flatMap((lane) => [entry(graded(lane), 'low, medium, high', lane), entry(plain(lane), '', lane)])

/** A server in front of the strict providers of both protocols, and of the demo. */
export const useShapes = (): (() => LaneSetup) => useLanes(MORE.join(''))

/** Models on one lane: with efforts and suffixed ids, and with none at all. */
export const modelsOf = (lane: LaneCase) => ({ graded: graded(lane), plain: plain(lane) })

/** What the provider behind a lane was asked last, by what it is here; the demo shows none of its requests. */
export interface ReceivedBy {
  readonly effort: unknown
  readonly cap: unknown
  readonly tools: readonly unknown[]
  /** Messages, items or contents. */
  readonly turns: readonly unknown[]
}

export function lastReceived(setup: LaneSetup, model: string): ReceivedBy {
  const receivedRequest = setup.receivedRequest(model).at(-1) ?? {}
  const config = fieldsOf(receivedRequest.generationConfig)
  const [reasoning, output] = [fieldsOf(receivedRequest.reasoning), fieldsOf(receivedRequest.output_config)]
  const level = fieldsOf(config.thinkingConfig).thinkingLevel
  const declared = listOf(receivedRequest.tools).flatMap((tool) => fieldsOf(tool).functionDeclarations ?? [tool])
  return {
    effort: receivedRequest.reasoning_effort ?? reasoning.effort ?? output.effort ?? level,
    cap:
      receivedRequest.max_tokens ??
      receivedRequest.max_completion_tokens ??
      receivedRequest.max_output_tokens ??
      config.maxOutputTokens,
    tools: declared,
    turns: listOf(receivedRequest.messages ?? receivedRequest.input ?? receivedRequest.contents),
  }
}

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
