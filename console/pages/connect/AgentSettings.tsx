import { CopyButton } from '../../ui/CopyButton.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { keyLike, type Target } from './client-snippets.ts'

/** For programs that nobody has written down yet: what their fields want. */
export function AgentSettings({ target }: { target: Target }) {
  const { settings } = useWords().connect
  const formats = useFormats()
  const effort = useEffortText(target)
  const { baseUrl, model, details, kind } = target
  const rows = [
    { name: settings.baseUrl, value: baseUrl, copy: baseUrl },
    { name: settings.key, value: keyLike(kind), copy: undefined },
    { name: settings.model, value: model, copy: model },
    { name: settings.context, value: formats.count(details.context_tokens), copy: `${details.context_tokens}` },
    { name: settings.output, value: formats.count(details.max_output_tokens), copy: `${details.max_output_tokens}` },
    { name: settings.effort, value: effort, copy: undefined },
    { name: settings.streaming, value: settings.on, copy: undefined },
  ]
  return (
    <dl className="divide-y divide-line rounded-lg border border-line">
      {rows.map(({ name, value, copy }) => (
        <div key={name} className="grid min-h-9 items-center gap-x-4 px-3 py-1 sm:grid-cols-[12rem_minmax(0,1fr)]">
          <dt className="text-sm text-faint">{name}</dt>
          <dd className="flex min-h-8 items-center justify-between gap-2">
            <span className="figures min-w-0 break-all">{value}</span>
            {copy !== undefined && <CopyButton text={copy} />}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function useEffortText({ model, details }: Target): string {
  const { settings } = useWords().connect
  const formats = useFormats()
  if (details.variants.includes(model) || details.efforts?.length === 0) return settings.effortOff
  return details.efforts === null ? settings.effortAny : settings.effortOne(formats.list(details.efforts))
}
