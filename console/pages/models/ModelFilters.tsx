import { useRef } from 'react'
import { useLetterKey } from '../../lib/letter-keys.ts'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { Segmented } from '../../ui/Segmented.tsx'
import { TextInput } from '../../ui/TextInput.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import type { ModelFilter } from './find-models.ts'

interface ModelFiltersProps {
  readonly filter: ModelFilter
  readonly onChange: (filter: ModelFilter) => void
  readonly shown: number
  readonly all: number
}

export function ModelFilters({ filter, onChange, shown, all }: ModelFiltersProps) {
  const { models } = useWords()
  const formats = useFormats()
  const input = useRef<HTMLInputElement>(null)
  useLetterKey('/', models.search, () => input.current?.focus())
  return (
    <search className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <TextInput
        ref={input}
        type="search"
        className="w-full sm:w-64"
        spellCheck={false}
        aria-label={models.search}
        placeholder={`${models.search} ( / )`}
        value={filter.text}
        onChange={(event) => onChange({ ...filter, text: event.target.value })}
      />
      <Segmented
        label={models.kind}
        value={filter.kind}
        options={[
          { value: 'any', label: models.kinds.any },
          { value: 'wallet', label: models.kinds.wallet },
          { value: 'builder', label: models.kinds.builder },
        ]}
        onPick={(kind) => onChange({ ...filter, kind })}
      />
      <Checkbox
        label={models.onlyAvailable}
        checked={filter.onlyAvailable}
        onChange={(event) => onChange({ ...filter, onlyAvailable: event.target.checked })}
      />
      <span className="figures ms-auto text-sm text-faint" aria-live="polite">
        {shown === all
          ? formats.plural(all, models.count)
          : models.countOf(formats.count(shown), formats.plural(all, models.count))}
      </span>
    </search>
  )
}
