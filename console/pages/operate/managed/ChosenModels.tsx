import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { TextField } from '../../../ui/Form.tsx'
import { Checkbox, SearchInput } from '../../../ui/inputs.tsx'
import { type Item, listOf, type Shape, shapeOf, textOf } from './managed-entry.ts'

type Model = AnswerOf<'POST /operate/managed/models'>['models'][number]

const NUMBERS = ['context_tokens', 'max_output_tokens'] as const
const PRICES = ['input', 'output'] as const
const COSTS = { input: 'cost_input', output: 'cost_output' } as const
type Field = (typeof NUMBERS)[number] | (typeof PRICES)[number] | (typeof COSTS)[keyof typeof COSTS]

/** A model that was chosen, with what the operator has changed of the proposal. */
export interface Draft extends Readonly<Record<Field, string>> {
  /** The provider's name for it. */
  readonly name: string
  readonly id: string
  readonly proposal: Model['proposal']
}

export function draftOf({ id: name, proposal }: Model): Draft {
  const price = shapeOf(proposal?.price)
  const [input, output] = [textOf(price.input), textOf(price.output)]
  return {
    ...{ name, proposal, id: textOf(proposal?.id) || name },
    ...{ context_tokens: textOf(proposal?.context_tokens), max_output_tokens: textOf(proposal?.max_output_tokens) },
    // What is known is the price of the provider: the cost, and a first price for clients.
    ...{ input, output, cost_input: input, cost_output: output },
  }
}

/** The managed model of that name, which gets another lane. */
const sameModel = (items: readonly Item[], { id }: Draft): Shape | undefined =>
  items.find(({ kind, name, file }) => kind === 'model' && name === id.trim() && file === null)?.entry ?? undefined

/** A model as the configuration has it. The other prices of a proposal stay, and so does a model that is there. */
export function entryOf(upstream: string, draft: Draft, items: readonly Item[]): Shape {
  const { name, id, proposal, input, output, context_tokens, max_output_tokens } = draft
  const { cost_input, cost_output } = draft
  const known = shapeOf(proposal?.price)
  const cost = cost_input.trim() !== '' && {
    cost: { ...known, input: cost_input.trim(), output: cost_output.trim() },
  }
  const lane = { upstream, model: name, ...cost }
  const same = sameModel(items, draft)
  if (same !== undefined) {
    const { price: _, ...rest } = same
    const others = listOf(same.lanes)
      .map(shapeOf)
      .filter((each) => each.upstream !== upstream || each.model !== name)
    const priority = Math.max(0, ...others.map((each) => Number(each.priority ?? 1))) + 1
    return { ...rest, lanes: [...others, { ...lane, priority }] }
  }
  return {
    ...{ ...proposal, id: id.trim() },
    ...{ context_tokens: Number(context_tokens), max_output_tokens: Number(max_output_tokens) },
    price: { ...known, input: input.trim(), output: output.trim() },
    lanes: [lane],
  }
}

/** More would make the list slow; the search finds the others. */
const SHOWN = 50

interface ChosenModelsProps {
  readonly found: readonly Model[]
  readonly drafts: readonly Draft[]
  readonly items: readonly Item[]
  readonly onToggle: (model: Model, isOn: boolean) => void
  readonly onChange: (draft: Draft) => void
}

export function ChosenModels({ found, drafts, items, onToggle, onChange }: ChosenModelsProps) {
  const { managed } = useMessages()
  const formats = useFormats()
  const [search, setSearch] = useState('')
  const matching = found.filter(({ id }) => id.toLowerCase().includes(search.trim().toLowerCase()))
  return (
    <>
      <p className="text-sm text-soft">{formats.plural(found.length, managed.found)}</p>
      <SearchInput label={managed.searchModels} value={search} onText={setSearch} />
      <ul className="grid max-h-56 gap-1.5 overflow-y-auto">
        {matching.slice(0, SHOWN).map((model) => (
          <li key={model.id}>
            <Checkbox
              label={model.id}
              checked={drafts.some(({ name }) => name === model.id)}
              onChange={(event) => onToggle(model, event.currentTarget.checked)}
            />
          </li>
        ))}
      </ul>
      {drafts.map((draft) => (
        <DraftFields
          key={draft.name}
          draft={draft}
          isAnotherLane={sameModel(items, draft) !== undefined}
          onChange={onChange}
        />
      ))}
    </>
  )
}

interface DraftFieldsProps {
  readonly draft: Draft
  readonly isAnotherLane: boolean
  readonly onChange: (draft: Draft) => void
}

function DraftFields({ draft, isAnotherLane, onChange }: DraftFieldsProps) {
  const { managed } = useMessages()
  const price = (field: Field, label: string, isNeeded: boolean) => (
    <TextField
      key={field}
      label={label}
      optional={!isNeeded}
      required={isNeeded}
      inputMode="decimal"
      value={draft[field]}
      onText={(text) => onChange({ ...draft, [field]: text })}
    />
  )
  const hasCost = draft.cost_input.trim() !== '' || draft.cost_output.trim() !== ''
  return (
    <fieldset className="grid grid-cols-1 gap-3 rounded-lg border border-line p-3 sm:grid-cols-2">
      <legend className="px-1 text-sm font-medium">{draft.name}</legend>
      <div className="sm:col-span-2">
        <TextField
          label={managed.modelId}
          hint={isAnotherLane ? managed.anotherLane(draft.id.trim()) : undefined}
          required
          value={draft.id}
          onText={(id) => onChange({ ...draft, id })}
        />
      </div>
      {!isAnotherLane &&
        NUMBERS.map((each) => (
          <TextField
            key={each}
            label={managed.sizes[each]}
            required
            inputMode="numeric"
            pattern="[0-9]+"
            value={draft[each]}
            onText={(text) => onChange({ ...draft, [each]: text })}
          />
        ))}
      {!isAnotherLane && PRICES.map((each) => price(each, managed.prices[each], true))}
      {PRICES.map((each) => price(COSTS[each], managed.costs[each], hasCost))}
    </fieldset>
  )
}
