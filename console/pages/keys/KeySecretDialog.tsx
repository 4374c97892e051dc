import { TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { exportKey, greetingCommand } from '../../lib/shell-code.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useModels } from '../../queries/account.ts'
import { useSession } from '../../queries/session.ts'
import { Button } from '../../ui/Button.tsx'
import { CodeBlock, CopyButton } from '../../ui/CopyButton.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { TimeText } from '../../ui/values.tsx'
import type { CreatedKey } from './key-facts.tsx'

interface KeySecretDialogProps {
  readonly made: CreatedKey
  /** Drops the secret, which only the caller's state holds. */
  readonly onStored: () => void
}

/** The only place that shows a secret. */
export function KeySecretDialog({ made: { key, secret }, onStored }: KeySecretDialogProps) {
  const { keys } = useMessages()
  const { session } = useSession()
  const model = useFirstModel(key)
  return (
    <Dialog title={keys.madeTitle} open onClose={onStored} width="wide" closing="by-button">
      <p className="flex gap-2.5 rounded-lg bg-held-wash px-3 py-2 font-medium text-held">
        <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
        {keys.madeWarning}
      </p>
      <section aria-label={keys.secret} className="grid gap-2">
        <div className="flex flex-wrap items-center justify-between gap-2">
          <p className="min-w-0 font-medium break-words">{key.name}</p>
          <CopyButton text={secret} label={keys.copySecret} look="button" />
        </div>
        <code className="rounded-lg border border-accent bg-accent-wash px-3 py-2.5 text-base break-all select-all">
          {secret}
        </code>
        <FormerNote made={key} />
      </section>
      <CodeBlock label={keys.inEnvironment} code={exportKey(secret)} />
      {model !== undefined && (
        <CodeBlock label={keys.tryIt} code={greetingCommand(session.base_url, { model }, keys.greeting)} />
      )}
      <DialogActions>
        <Button tone="primary" onClick={onStored}>
          {keys.stored}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

function FormerNote({ made: { former } }: { made: CreatedKey['key'] }) {
  const { keys } = useMessages()
  if (former === null) return null
  return (
    <p className="text-sm text-soft">
      <TimeText message={keys.formerLasts} at={former.until} />
    </p>
  )
}

/** A model that the new key may call, so that the command works as it is. */
function useFirstModel({ kind, models }: CreatedKey['key']): string | undefined {
  const { data } = useModels()
  const offered = data?.items.filter((model) => model.kinds.includes(kind)) ?? []
  const allowed = offered.filter(({ id }) => models === null || models.some((entry) => admits(entry, id)))
  const named = models?.find((entry) => !entry.includes('*'))
  return (allowed.find(({ available }) => available) ?? allowed[0])?.id ?? named
}

/** Matches a pattern as the server does: a star stands for anything. */
function admits(entry: string, id: string): boolean {
  const pattern = entry.split('*').map((piece) => piece.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('.*')}$`).test(id)
}

/** Holds the secret of a new key while it is shown. It must not get into the address, storage, a cache or a toast. */
export function useKeySecret() {
  const [made, setMade] = useState<CreatedKey | undefined>()
  return { made, show: setMade, drop: () => setMade(undefined) }
}
