import { X } from 'lucide-react'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Select } from '../../ui/Select.tsx'
import { TextInput } from '../../ui/TextInput.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { MOVEMENT_KINDS, type StatementFilters } from './statement-filters.ts'

interface StatementFilterBarProps {
  readonly filters: StatementFilters
  readonly onChange: (filters: StatementFilters) => void
}

export function StatementFilterBar({ filters, onChange }: StatementFilterBarProps) {
  const { wallet } = useWords()
  const { zone } = useFormats()
  const without = (name: keyof StatementFilters): StatementFilters => {
    const { [name]: _, ...rest } = filters
    return rest
  }
  const setDay = (name: 'from' | 'to', day: string) =>
    onChange(day === '' ? without(name) : { ...filters, [name]: day })
  return (
    <div className="flex flex-wrap items-end gap-3 px-4 pt-1 pb-3">
      <Field label={wallet.kind}>
        {(control) => (
          <Select
            {...control}
            value={filters.kind ?? 'all'}
            options={[
              { value: 'all', label: wallet.allKinds },
              ...MOVEMENT_KINDS.map((value) => ({ value, label: wallet.kinds[value] })),
            ]}
            onPick={(kind) => onChange(kind === 'all' ? without('kind') : { ...filters, kind })}
          />
        )}
      </Field>
      {(['from', 'to'] as const).map((name) => (
        <Field key={name} label={wallet[name]}>
          {(control) => (
            <TextInput
              {...control}
              type="date"
              title={wallet.zone(zone)}
              value={filters[name] ?? ''}
              onChange={(event) => setDay(name, event.target.value)}
            />
          )}
        </Field>
      ))}
      {Object.keys(filters).length > 0 && (
        <Button tone="quiet" className="min-h-9" onClick={() => onChange({})}>
          <X aria-hidden="true" />
          {wallet.clear}
        </Button>
      )}
    </div>
  )
}
