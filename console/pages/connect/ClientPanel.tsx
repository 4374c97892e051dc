import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { type ClientId, keyLike, type Snippet, type Target } from './client-snippets.ts'

interface ClientPanelProps {
  readonly client: ClientId
  readonly target: Target
  readonly snippets: readonly Snippet[]
}

/** One program: what to copy where, and what to watch for. */
export function ClientPanel({ client, target, snippets }: ClientPanelProps) {
  const { connect } = useMessages()
  return (
    <div className="grid grid-cols-1 items-start gap-x-8 gap-y-5 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <div className="grid grid-cols-1 gap-3">
        {client === 'agents' && <AgentSettings target={target} />}
        {snippets.map(({ label, code }) => (
          <CodeBlock key={code} label={'file' in label ? label.file : connect.labels[label.word]} code={code} />
        ))}
      </div>
      <section className="grid gap-2">
        <h2 className="font-semibold">{connect.watch}</h2>
        <ul className="grid list-disc gap-2 ps-5 text-soft marker:text-faint">
          {connect.notes[client].map((note) => (
            <li key={note} className="break-words">
              {note}
            </li>
          ))}
        </ul>
        <p className="text-sm text-faint">{connect.tried[client]}</p>
      </section>
    </div>
  )
}

/** For programs that nobody has written down yet: what their fields want. */
function AgentSettings({ target }: { target: Target }) {
  const { settings } = useMessages().connect
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
  const { settings } = useMessages().connect
  const formats = useFormats()
  if (details.variants.includes(model) || details.efforts?.length === 0) return settings.effortOff
  return details.efforts === null ? settings.effortAny : settings.effortOne(formats.list(details.efforts))
}
