import { useMessages } from '../messages/MessagesProvider.tsx'
import { Button } from './Button.tsx'
import { CopyButton } from './CopyButton.tsx'
import { DialogActions } from './Dialog.tsx'
import { TimeText } from './values.tsx'

interface InvitationLinkProps {
  readonly invited: { readonly link: string; readonly expires_at: string; readonly mailed: boolean }
  readonly onClose: () => void
}

/** Shown once, in a dialog that only its button closes. */
export function InvitationLink({ invited, onClose }: InvitationLinkProps) {
  const { members } = useMessages()
  return (
    <div className="grid gap-4">
      <p className="text-soft">{members.linkText}</p>
      {invited.mailed && <p className="text-soft">{members.mailed}</p>}
      <p className="rounded-lg border border-line bg-sunken p-3 font-mono text-sm break-all select-all">
        {invited.link}
      </p>
      <p className="text-sm text-faint">
        <TimeText message={members.goodUntil} at={invited.expires_at} />
      </p>
      <DialogActions>
        <CopyButton text={invited.link} label={members.copy} look="button" />
        <Button tone="primary" onClick={onClose}>
          {members.done}
        </Button>
      </DialogActions>
    </div>
  )
}
