import { Popover } from '../../ui/Popover.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'

/** What a key may call: all of its kind, the one, or how many, with all of them behind it. */
export function KeyModels({ models }: { models: readonly string[] | null }) {
  const { keys } = useWords()
  const formats = useFormats()
  if (models === null) return <span className="text-soft">{keys.allModels}</span>
  const [only] = models
  if (models.length === 1) return <code className="break-all">{only}</code>
  return (
    <Popover
      label={keys.showModels}
      trigger={
        <button
          type="button"
          className="figures min-h-6 whitespace-nowrap underline decoration-line underline-offset-4 hover:decoration-edge"
        >
          {formats.plural(models.length, keys.countOfModels)}
        </button>
      }
    >
      <ul className="grid max-h-72 gap-1 overflow-y-auto">
        {models.map((model) => (
          <li key={model}>
            <code className="break-all">{model}</code>
          </li>
        ))}
      </ul>
    </Popover>
  )
}
