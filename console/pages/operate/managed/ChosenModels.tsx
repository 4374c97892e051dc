import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { TextField } from '../../../ui/Form.tsx'
import { Checkbox, SearchInput } from '../../../ui/inputs.tsx'

type Model = AnswerOf<'POST /operate/managed/models'>['models'][number]

const NUMBERS = ['context_tokens', 'max_output_tokens'] as const
const PRICES = ['input', 'output'] as const

/** A model that was chosen, with what the operator has changed of the proposal. */
export interface Draft extends Readonly<Record<(typeof NUMBERS)[number] | (typeof PRICES)[number], string>> {
  /** The provider's name for it. */
  readonly name: string
  readonly id: string
  readonly proposal: Model['proposal']
}

const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

export function draftOf({ id: name, proposal }: Model): Draft {
  const price = (proposal?.price ?? {}) as { readonly input?: unknown; readonly output?: unknown }
  return {
    ...{ name, proposal, id: textOf(proposal?.id) || name },
    ...{ context_tokens: textOf(proposal?.context_tokens), max_output_tokens: textOf(proposal?.max_output_tokens) },
    ...{ input: textOf(price.input), output: textOf(price.output) },
  }
}

/** A model as the configuration has it. The other prices of a proposal stay. */
export const entryOf = (upstream: string, { name, id, proposal, input, output, ...sizes }: Draft) => ({
  ...proposal,
  id: id.trim(),
  context_tokens: Number(sizes.context_tokens),
  max_output_tokens: Number(sizes.max_output_tokens),
  price: { ...(proposal?.price as object | undefined), input: input.trim(), output: output.trim() },
  lanes: [{ upstream, model: name }],
})

/** More would make the list slow; the search finds the others. */
const SHOWN = 50

interface ChosenModelsProps {
  readonly found: readonly Model[]
  readonly drafts: readonly Draft[]
  readonly onToggle: (model: Model, isOn: boolean) => void
  readonly onChange: (draft: Draft) => void
}

export function ChosenModels({ found, drafts, onToggle, onChange }: ChosenModelsProps) {
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
        <fieldset key={draft.name} className="grid grid-cols-2 gap-3 rounded-lg border border-line p-3">
          <legend className="px-1 text-sm font-medium">{draft.name}</legend>
          <TextField label={managed.modelId} required value={draft.id} onText={(id) => onChange({ ...draft, id })} />
          {NUMBERS.map((each) => (
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
          {PRICES.map((each) => (
            <TextField
              key={each}
              label={managed.prices[each]}
              required
              inputMode="decimal"
              value={draft[each]}
              onText={(text) => onChange({ ...draft, [each]: text })}
            />
          ))}
        </fieldset>
      ))}
    </>
  )
}
