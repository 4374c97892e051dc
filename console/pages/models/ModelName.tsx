import { Badge } from '../../ui/Badge.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import type { ModelItem } from './find-models.ts'

/** What a client has to write, to be copied, and the ids that ask for one effort of it. */
export function ModelName({ model: { id, variants, efforts, demo } }: { model: ModelItem }) {
  const { models } = useWords()
  return (
    <div className="grid min-w-0 gap-0.5 md:min-w-52">
      <span className="flex min-w-0 flex-wrap items-center gap-1">
        <code className="min-w-0 font-medium wrap-anywhere">{id}</code>
        <CopyButton text={id} label={models.copyId(id)} />
        {demo && (
          <span title={models.demoText}>
            <Badge>{models.demo}</Badge>
          </span>
        )}
      </span>
      {variants.length > 0 && (
        <span className="flex flex-wrap gap-x-1 gap-y-0.5 text-xs font-normal text-faint">
          <span className="sr-only">{models.efforts}</span>
          {variants.map((variant) => (
            <code key={variant} title={variant} className="rounded bg-sunken px-1">
              {variant.startsWith(id) ? variant.slice(id.length) : variant}
            </code>
          ))}
        </span>
      )}
      {efforts === null && <span className="text-xs font-normal text-faint">{models.anyEffort}</span>}
    </div>
  )
}
