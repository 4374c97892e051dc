import type { AnswerUsage } from './answer.ts'

/** A tool that the model wants to have run; whoever sits here plays the tool and types its result. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** How an answer came about. */
export interface TurnFacts {
  readonly state: 'done' | 'stopped' | 'failed'
  readonly model: string
  readonly requestId: string | null
  readonly firstMs: number | undefined
  readonly totalMs: number
  readonly usage: AnswerUsage | undefined
  readonly finish: string | undefined
}

/** What has been said, in neither protocol's words, so that one conversation can go on in the other. */
export type Message =
  | { readonly by: 'user'; readonly id: number; readonly text: string }
  | {
      readonly by: 'model'
      readonly id: number
      readonly text: string
      readonly reasoning: string
      readonly calls: readonly ToolCall[]
      /** The output of a Responses answer as it came: sealed reasoning has to go back unchanged. */
      readonly items: readonly unknown[] | undefined
      readonly facts: TurnFacts
    }
  | { readonly by: 'tool'; readonly id: number; readonly call: string; readonly text: string }

export type ModelMessage = Extract<Message, { by: 'model' }>

/** The calls at the end of a conversation that have no result yet. Until they have, no model can go on. */
export function openCalls(history: readonly Message[]): ToolCall[] {
  const last = history.findLast((each) => each.by === 'model')
  const answered = new Set(history.flatMap((each) => (each.by === 'tool' ? [each.call] : [])))
  return last?.calls.filter(({ id }) => !answered.has(id)) ?? []
}
