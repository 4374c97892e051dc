import { Link } from '@tanstack/react-router'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { choicesOf } from '../../ui/choices.ts'
import { Field } from '../../ui/Field.tsx'
import { Segmented } from '../../ui/Segmented.tsx'
import { Select } from '../../ui/Select.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import type { Target } from './client-snippets.ts'

interface TargetFieldsProps {
  readonly baseUrl: string
  readonly models: readonly Target['details'][]
  readonly model: string
  readonly kind: Target['kind']
  readonly onModel: (model: string) => void
  readonly onKind: (kind: Target['kind']) => void
}

const KINDS = ['wallet', 'builder'] as const

/** What all snippets are made of. */
export function TargetFields({ baseUrl, models, model, kind, onModel, onKind }: TargetFieldsProps) {
  const { connect } = useMessages()
  const ids = models.flatMap(({ id, variants }) => [id, ...variants])
  return (
    <div className="grid grid-cols-1 items-start gap-x-6 gap-y-4 md:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto]">
      <div className="grid min-w-0 gap-1">
        <span className="text-sm font-medium">{connect.baseUrl}</span>
        <span className="flex min-h-9 items-center gap-1 rounded-md bg-sunken ps-2.5">
          <code className="min-w-0 flex-1 break-all">{baseUrl}</code>
          <CopyButton text={baseUrl} label={connect.copyBaseUrl} />
        </span>
      </div>
      <Field label={connect.model}>
        {(control) => (
          <Select
            {...control}
            disabled={ids.length === 0}
            value={model}
            options={ids.map((id) => ({ value: id, label: id }))}
            onPick={onModel}
          />
        )}
      </Field>
      <div className="grid gap-1">
        <span aria-hidden="true" className="text-sm font-medium">
          {connect.key}
        </span>
        <Segmented label={connect.key} value={kind} options={choicesOf(KINDS, connect.kinds)} onPick={onKind} />
        <p className="text-xs text-faint">
          {connect.noKey}{' '}
          <Link to="/keys" className="text-accent underline">
            {connect.makeKey}
          </Link>
        </p>
      </div>
    </div>
  )
}
