import { X } from 'lucide-react'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Field, TextField } from '../../../ui/Form.tsx'
import { Select } from '../../../ui/inputs.tsx'
import type { Item } from './managed-entry.ts'
import { COSTS, type LaneDraft } from './model-draft.ts'

export const providersOf = (items: readonly Item[]): readonly string[] =>
  items.flatMap(({ kind, name }) => (kind === 'upstream' ? [name] : []))

interface LaneFieldsProps {
  readonly lane: LaneDraft
  readonly title: string
  readonly items: readonly Item[]
  readonly onChange: (lane: LaneDraft) => void
  /** The last lane cannot be removed. */
  readonly onRemove: (() => void) | undefined
}

export function LaneFields({ lane, title, items, onChange, onRemove }: LaneFieldsProps) {
  const { managed } = useMessages()
  return (
    <fieldset className="grid grid-cols-1 gap-3 rounded-lg border border-line p-3 sm:grid-cols-2">
      <legend className="px-1 text-sm font-medium">{title}</legend>
      <Field label={managed.provider}>
        {(control) => (
          <Select
            {...control}
            required
            value={lane.upstream}
            options={['', ...providersOf(items)].map((name) => ({ value: name, label: name || managed.choose }))}
            onPick={(upstream) => onChange({ ...lane, upstream })}
          />
        )}
      </Field>
      <TextField
        label={managed.upstreamModel}
        required
        spellCheck={false}
        value={lane.model}
        onText={(model) => onChange({ ...lane, model })}
      />
      {COSTS.map((each) => (
        <TextField
          key={each}
          label={managed.costs[each]}
          optional
          inputMode="decimal"
          value={lane[each]}
          onText={(text) => onChange({ ...lane, [each]: text })}
        />
      ))}
      <TextField
        label={managed.order}
        hint={managed.orderHint}
        required
        inputMode="numeric"
        pattern="[0-9]+"
        value={lane.priority}
        onText={(priority) => onChange({ ...lane, priority })}
      />
      {onRemove !== undefined && (
        <div className="self-end justify-self-end">
          <Button onClick={onRemove}>
            <X aria-hidden="true" />
            {managed.removeLane}
          </Button>
        </div>
      )}
    </fieldset>
  )
}
