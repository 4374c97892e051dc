import { useState } from 'react'
import { useSecretAct } from '../../questions/useSecretAct.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { FormEnd } from '../../ui/FormEnd.tsx'
import { Segmented } from '../../ui/Segmented.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import type { KeyFacts, MadeKey } from './own-key.ts'

const GRACES = ['0', '1h', '24h', '7d'] as const

interface RotateKeyDialogProps {
  readonly keyItem: KeyFacts
  readonly onClose: () => void
  readonly onRotated: (made: MadeKey) => void
}

/** A new secret for the same key, and how long the former one goes on working beside it. */
export function RotateKeyDialog({ keyItem, onClose, onRotated }: RotateKeyDialogProps) {
  const { keys } = useWords()
  const [grace, setGrace] = useState<(typeof GRACES)[number]>('24h')
  const rotate = useSecretAct('POST /keys/:key/rotate', {
    changes: ['GET /keys', 'GET /keys/:key', 'GET /audit'],
    onMade: onRotated,
  })
  return (
    <Dialog title={keys.rotateTitle(keyItem.name)} open onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          rotate.mutate({ params: { key: keyItem.id }, body: { grace } })
        }}
      >
        <p className="text-soft">{keys.rotateText}</p>
        <div className="grid justify-items-start gap-1.5">
          <p className="text-sm font-medium">{keys.grace}</p>
          <Segmented
            label={keys.grace}
            value={grace}
            options={GRACES.map((value) => ({ value, label: keys.graces[value] }))}
            onPick={setGrace}
          />
          <p className="text-xs text-faint">{grace === '0' ? keys.graceNone : keys.graceSome}</p>
        </div>
        {keyItem.former !== null && (
          <p className="rounded-md bg-held-wash px-3 py-2 text-held">{keys.graceAgain(keyItem.former.shown)}</p>
        )}
        <FormEnd act={rotate} go={keys.makeNew} onCancel={onClose} />
      </form>
    </Dialog>
  )
}
