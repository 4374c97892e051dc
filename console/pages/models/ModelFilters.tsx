import { Checkbox } from '../../ui/Checkbox.tsx'
import { choicesOf } from '../../ui/choices.ts'
import { SearchInput } from '../../ui/SearchInput.tsx'
import { Segmented } from '../../ui/Segmented.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import type { ModelFilter } from './find-models.ts'

interface ModelFiltersProps {
  readonly filter: ModelFilter
  readonly onChange: (filter: ModelFilter) => void
  readonly shown: number
  readonly all: number
}

export function ModelFilters({ filter, onChange, shown, all }: ModelFiltersProps) {
  const { models } = useMessages()
  const formats = useFormats()
  return (
    <search className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <SearchInput
        label={models.search}
        className="w-full sm:w-64"
        value={filter.text}
        onText={(text) => onChange({ ...filter, text })}
      />
      <Segmented
        label={models.kind}
        value={filter.kind}
        options={choicesOf(['any', 'wallet', 'builder'], models.kinds)}
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
