import { listOf, type Shape, shapeOf, textOf, wordsOf } from './managed-entry.ts'

export const SIZES = ['context_tokens', 'max_output_tokens'] as const
export const INPUTS = ['image', 'file'] as const
export const PRICES = ['input', 'output'] as const
export const KINDS = ['wallet', 'builder'] as const

export type Texts = Readonly<
  Record<
    'id' | 'description' | 'efforts' | (typeof SIZES)[number] | (typeof INPUTS)[number] | (typeof PRICES)[number],
    string
  >
>

interface ModelDraft {
  readonly texts: Texts
  readonly kinds: readonly string[]
  readonly lanes: readonly LaneDraft[]
}

export function draftOf(entry: Shape, providers: readonly string[]): ModelDraft {
  const most = shapeOf(entry.input_tokens_max)
  const lanes = listOf(entry.lanes).map(shapeOf)
  return {
    texts: {
      ...{ id: textOf(entry.id), description: textOf(entry.description) },
      efforts: listOf(entry.efforts).map(textOf).join(', '),
      ...{ context_tokens: textOf(entry.context_tokens), max_output_tokens: textOf(entry.max_output_tokens) },
      ...{ image: textOf(most.image), file: textOf(most.file), input: '', output: '' },
    },
    kinds: entry.kinds === undefined ? KINDS : listOf(entry.kinds).map(textOf),
    lanes: (lanes.length === 0 ? [{ upstream: providers[0] }] : lanes).map((lane, row) => laneDraftOf(lane, row)),
  }
}

/** A model as the configuration has it. Keys without a field stay as they are, and so do the prices of one that is there. */
export function entryOf({ price: _, ...entry }: Shape, { texts, kinds, lanes }: ModelDraft): Shape {
  const { description, efforts, input_tokens_max: most, ...rest } = entry
  const accepted = INPUTS.filter((input) => texts[input].trim() !== '')
  const named = wordsOf(texts.efforts)
  return {
    ...{ ...rest, id: texts.id.trim() },
    ...(texts.description.trim() !== '' && { description: texts.description.trim() }),
    // An empty list refuses every effort; left out, any is passed on.
    ...(named.length > 0 ? { efforts: named } : Array.isArray(efforts) && efforts.length === 0 && { efforts }),
    ...Object.fromEntries(SIZES.map((size) => [size, Number(texts[size])])),
    ...((accepted.length > 0 || entry.inputs !== undefined) && { inputs: ['text', ...accepted] }),
    ...(accepted.length > 0 && {
      input_tokens_max: Object.fromEntries(accepted.map((input) => [input, Number(texts[input])])),
    }),
    ...((kinds.length < KINDS.length || entry.kinds !== undefined) && { kinds }),
    lanes: lanes.map(laneOf),
  }
}

/** Of a lane that has none. */
const FIRST = '1'
export const COSTS = ['input', 'output'] as const

export interface LaneDraft
  extends Readonly<Record<'upstream' | 'model' | 'priority' | (typeof COSTS)[number], string>> {
  readonly row: number
  /** Keys without a field stay: weight, traits, prices per request. */
  readonly saved: Shape
}

export function laneDraftOf(lane: Shape, row: number): LaneDraft {
  const cost = shapeOf(lane.cost)
  return {
    ...{ row, saved: lane, upstream: textOf(lane.upstream), model: textOf(lane.model) },
    ...{ priority: textOf(lane.priority) || FIRST, input: textOf(cost.input), output: textOf(cost.output) },
  }
}

function laneOf({ saved: { cost, ...saved }, upstream, model, priority, ...texts }: LaneDraft): Shape {
  const { input: _, output: __, ...other } = shapeOf(cost)
  const given = COSTS.filter((each) => texts[each].trim() !== '')
  return {
    ...{ ...saved, upstream, model: model.trim() },
    ...((priority !== FIRST || saved.priority !== undefined) && { priority: Number(priority) }),
    ...(given.length > 0 && {
      cost: { ...other, ...Object.fromEntries(given.map((each) => [each, texts[each].trim()])) },
    }),
  }
}
