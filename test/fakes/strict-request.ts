import { type Fields, isObject } from '../../src/lib/types.ts'
import type { ProviderAnswer } from './answers.ts'
import type { Script } from './fault-upstream.ts'

/** A request that a strict provider does not take. */
class BadRequest extends Error {
  readonly param: string
  readonly code: string | null

  constructor(message: string, param: string, code: string | null) {
    super(message)
    this.param = param
    this.code = code
  }
}

/** Refuses the request unless it is as it has to be. */
export function demand(holds: boolean, message: string, param: string, code: string | null = null): asserts holds {
  if (!holds) throw new BadRequest(message, param, code)
}

export const demandKnown = (fields: Fields, known: ReadonlySet<string>, where = ''): void => {
  for (const name of Object.keys(fields)) demand(known.has(name), `Unknown parameter: '${where}${name}'.`, name)
}

export function demandList(value: unknown, param: string): readonly Fields[] {
  demand(
    Array.isArray(value) && value.every(isObject),
    `Invalid type for '${param}': expected a list of objects.`,
    param,
  )
  return value
}

export function demandText(value: unknown, param: string): string {
  demand(typeof value === 'string', `Invalid type for '${param}': expected a string.`, param)
  return value
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/
export function demandToolName(value: unknown, param: string): string {
  const name = demandText(value, param)
  demand(TOOL_NAME.test(name), `Invalid '${param}': string does not match pattern.`, param)
  return name
}

type Refusal = (message: string, param: string, code: string | null) => object

const inOpenAisWords: Refusal = (message, param, code) => ({
  error: { message, type: 'invalid_request_error', param, code },
})

/** Answers what it takes, and tells of anything else that it is a bad request, as providers do. */
export const strictly =
  (answer: (providerAnswer: ProviderAnswer) => Promise<void>, inTheirWords: Refusal = inOpenAisWords): Script =>
  async (providerAnswer) => {
    try {
      await answer(providerAnswer)
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error
      const { message, param, code } = error
      await providerAnswer.head(400)
      await providerAnswer.bytes(JSON.stringify(inTheirWords(message, param, code)))
      await providerAnswer.end()
    }
  }

/** What the model of a lane does after its first two words; any other says everything. */
export type ClientMode = 'whole' | 'sleeps' | 'breaks' | 'resets'

export const modeOf = ({ model }: ProviderAnswer): ClientMode =>
  model === 'sleeps' || model === 'breaks' || model === 'resets' ? model : 'whole'

/** What a strict provider says of it; undefined: it is as it has to be. */
export function refusalBy(judge: () => void): string | undefined {
  try {
    judge()
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error
    return `${error.param}: ${error.message}`
  }
  return undefined
}
