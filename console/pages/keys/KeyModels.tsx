import { Popover } from '../../ui/Popover.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import type { ListedKey } from './own-key.ts'

/** What a key may call: all of its kind, the one, or how many, with the first of them behind it. */
export function KeyModels({ models }: Pick<ListedKey, 'models'>) {
  const { keys } = useWords()
  const formats = useFormats()
  if (models === null) return <span className="text-soft">{keys.allModels}</span>
  const { count, first } = models
  const [only] = first
  const more = count - first.length
  if (count === 1) return <code className="break-all">{only}</code>
  return (
    <Popover
      label={keys.showModels}
      trigger={
        <button
          type="button"
          className="figures min-h-6 whitespace-nowrap underline decoration-line underline-offset-4 hover:decoration-edge"
        >
          {formats.plural(count, keys.countOfModels)}
        </button>
      }
    >
      <ul className="grid max-h-72 gap-1 overflow-y-auto">
        {first.map((model) => (
          <li key={model}>
            <code className="break-all">{model}</code>
          </li>
        ))}
        {more > 0 && <li className="text-soft">{formats.plural(more, keys.moreModels)}</li>}
      </ul>
    </Popover>
  )
}
