import type { ReactNode } from 'react'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Time, TimeText } from '../../ui/Time.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import type { OwnKey } from './own-key.ts'
import { LIMITS } from './terms/key-draft.ts'

/** What a key may do and until when, as it was agreed when it was made or last edited. */
export function KeyTerms({ keyItem }: { keyItem: OwnKey }) {
  const { keys } = useMessages()
  const formats = useFormats()
  const { id, models, limits, created_at, expires_at, last_used_at, former } = keyItem
  return (
    <Panel title={keys.terms}>
      <dl className="grid gap-x-8 gap-y-3 sm:grid-cols-2 lg:grid-cols-3">
        <Term name={keys.id}>
          <span className="flex items-center gap-1">
            <code className="break-all">{id}</code>
            <CopyButton text={id} label={keys.copyId} />
          </span>
        </Term>
        <Term name={keys.created}>
          <Time at={created_at} as="time" />
        </Term>
        <Term name={keys.lastUsed}>{last_used_at === null ? keys.neverUsed : <Time at={last_used_at} />}</Term>
        <Term name={keys.expires}>{expires_at === null ? keys.never : <Time at={expires_at} as="time" />}</Term>
        {LIMITS.map((name) => (
          <Term key={name} name={keys.limitNames[name]}>
            {limits[name] === null ? keys.noLimit : <span className="figures">{formats.count(limits[name])}</span>}
          </Term>
        ))}
        {former !== null && (
          <Term name={keys.shown}>
            <span className="text-held">
              <TimeText say={(until) => keys.formerUntil(former.shown, until)} at={former.until} />
            </span>
          </Term>
        )}
        <div className="sm:col-span-full">
          <dt className="text-sm text-faint">{keys.models}</dt>
          <dd className="pt-1">{models === null ? keys.everyModel : <ModelTags models={models} />}</dd>
        </div>
      </dl>
    </Panel>
  )
}

const Term = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="grid content-start gap-0.5">
    <dt className="text-sm text-faint">{name}</dt>
    <dd className="min-w-0">{children}</dd>
  </div>
)

const ModelTags = ({ models }: { models: readonly string[] }) => (
  <ul className="flex max-h-56 flex-wrap gap-1.5 overflow-y-auto">
    {models.map((model) => (
      <li key={model} className="rounded-md bg-sunken px-2 py-0.5">
        <code className="break-all">{model}</code>
      </li>
    ))}
  </ul>
)
