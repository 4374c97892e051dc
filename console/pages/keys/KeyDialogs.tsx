import { useWords } from '../../words/WordsProvider.tsx'
import { EditKeyDialog } from './EditKeyDialog.tsx'
import type { MadeKey, PickedAct } from './own-key.ts'
import { RenameKeyDialog } from './RenameKeyDialog.tsx'
import { RevokeKeyDialog } from './RevokeKeyDialog.tsx'
import { RotateKeyDialog } from './RotateKeyDialog.tsx'

interface KeyDialogsProps {
  readonly picked: PickedAct | undefined
  readonly onClose: () => void
  readonly onRotated: (made: MadeKey) => void
}

/** The dialog of what was picked for a key, in a list or on its own page. */
export function KeyDialogs({ picked, onClose, onRotated }: KeyDialogsProps) {
  const { keys } = useWords()
  if (picked === undefined) return null
  const { act, key } = picked
  switch (act) {
    case 'edit':
      return <EditKeyDialog keyId={key.id} title={keys.editTitle(key.name)} onClose={onClose} />
    case 'rename':
      return <RenameKeyDialog keyItem={key} onClose={onClose} />
    case 'rotate':
      return <RotateKeyDialog keyItem={key} onClose={onClose} onRotated={onRotated} />
    case 'revoke':
      return <RevokeKeyDialog keyItem={key} onClose={onClose} />
  }
}
