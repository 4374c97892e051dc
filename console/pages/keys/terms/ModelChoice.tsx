import { Plus } from 'lucide-react'
import { useState } from 'react'
import { type ModelItem, useModels } from '../../../queries/account.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Checkbox } from '../../../ui/Checkbox.tsx'
import { Segmented } from '../../../ui/Segmented.tsx'
import { TextInput } from '../../../ui/TextInput.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { OwnKey } from '../own-key.ts'
import type { DraftProps } from './TermFields.tsx'

/** Which models a key may call: all, those of a list, or those of a pattern that grows with the catalogue. */
export function ModelChoice({ kind, draft, onChange, wrong }: DraftProps & { kind: OwnKey['kind'] }) {
  const { keys } = useMessages()
  const [before, setBefore] = useState(draft.models ?? [])
  const { models } = draft
  const pick = (choice: 'all' | 'some') => {
    if (choice === 'all') setBefore(models ?? [])
    onChange({ ...draft, models: choice === 'all' ? null : before })
  }
  return (
    <div className="grid gap-1.5">
      <p className="text-sm font-medium">{keys.models}</p>
      <div>
        <Segmented
          label={keys.models}
          value={models === null ? 'all' : 'some'}
          options={[
            { value: 'all', label: keys.everyModel },
            { value: 'some', label: keys.chosenModels },
          ]}
          onPick={pick}
        />
      </div>
      {models !== null && (
        <ModelList kind={kind} chosen={models} onChange={(next) => onChange({ ...draft, models: next })} />
      )}
      {wrong.includes('models') && (
        <p role="alert" className="text-xs font-medium text-bad">
          {keys.chooseOne}
        </p>
      )}
      <p className="text-xs text-faint">{keys.modelsHint}</p>
    </div>
  )
}

interface ModelListProps {
  readonly kind: OwnKey['kind']
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
}

function ModelList({ kind, chosen, onChange }: ModelListProps) {
  const { keys } = useMessages()
  const formats = useFormats()
  const query = useModels()
  const [typed, setTyped] = useState('')
  return (
    <div className="rounded-lg border border-line">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line p-2">
        <TextInput
          type="search"
          aria-label={keys.findModel}
          placeholder={keys.findModel}
          spellCheck={false}
          className="flex-1 basis-56"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          // Enter would send the whole form, which nobody means who is still searching.
          onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
        />
        <span aria-live="polite" className="figures shrink-0 pe-1 text-sm text-soft">
          {formats.plural(chosen.length, keys.chosenCount)}
        </span>
      </div>
      <QueryView query={query}>
        {({ items }) => {
          const { rows, pattern } = modelChoices(items, kind, chosen, typed)
          const toggle = (model: string) =>
            onChange(chosen.includes(model) ? chosen.filter((each) => each !== model) : [...chosen, model])
          return (
            <ul className="grid max-h-56 gap-2 overflow-y-auto p-3">
              {pattern !== undefined && (
                <li>
                  <Button
                    onClick={() => {
                      onChange([...chosen, pattern])
                      setTyped('')
                    }}
                  >
                    <Plus aria-hidden="true" />
                    {keys.addPattern(pattern)}
                  </Button>
                </li>
              )}
              {rows.map((model) => (
                <li key={model}>
                  <Checkbox
                    label={<code className="break-all">{model}</code>}
                    checked={chosen.includes(model)}
                    onChange={() => toggle(model)}
                  />
                </li>
              ))}
              {rows.length === 0 && pattern === undefined && <li className="text-faint">{keys.noModelLike}</li>}
            </ul>
          )
        }}
      </QueryView>
    </div>
  )
}

interface ModelChoices {
  /** What the list shows: what is chosen and found first in the order of the models, then patterns and what is gone. */
  readonly rows: readonly string[]
  /** A pattern that is typed and not on the list yet. */
  readonly pattern: string | undefined
}

/** What can be chosen for a key of a kind, as far as it fits the search; whatever is chosen stays in sight. */
function modelChoices(
  models: readonly ModelItem[],
  kind: OwnKey['kind'],
  chosen: readonly string[],
  typed: string,
): ModelChoices {
  const ids = models.filter((model) => model.kinds.includes(kind)).map(({ id }) => id)
  const others = chosen.filter((each) => !ids.includes(each))
  const text = typed.trim().toLowerCase()
  const isFound = (id: string) => id.toLowerCase().includes(text.replaceAll('*', ''))
  const isNewPattern = typed.includes('*') && !chosen.includes(typed.trim())
  return {
    rows: [...others, ...ids].filter(isFound),
    pattern: isNewPattern ? typed.trim() : undefined,
  }
}
