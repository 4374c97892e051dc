import { Ban, CirclePause, CirclePlay, Ellipsis, PencilLine, RefreshCw, SquarePen } from 'lucide-react'
import { Suspense, useState } from 'react'
import { lazyPart } from '../../lib/lazy-part.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation, useSecretMutation } from '../../queries/mutations.ts'
import { IconButton } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { ConfirmByName, Form, FormEnd, TextField } from '../../ui/Form.tsx'
import { ChoiceField, choicesOf } from '../../ui/inputs.tsx'
import { Menu, MenuItem, MenuLine } from '../../ui/Menu.tsx'
import { NAME_MAX } from './key-draft.ts'
import type { CreatedKey, KeyAction, KeyFacts, PickedAction } from './key-facts.tsx'

const EditKeyDialog = lazyPart(async () => (await import('./key-form-dialogs.tsx')).EditKeyDialog)

interface KeyDialogsProps {
  readonly picked: PickedAction | undefined
  readonly onClose: () => void
  readonly onRotated: (made: CreatedKey) => void
}

export function KeyDialogs({ picked, onClose, onRotated }: KeyDialogsProps) {
  const { keys } = useMessages()
  if (picked === undefined) return null
  const { action, key } = picked
  switch (action) {
    case 'edit':
      return (
        <Suspense fallback={null}>
          <EditKeyDialog keyId={key.id} title={keys.editTitle(key.name)} onClose={onClose} />
        </Suspense>
      )
    case 'rename':
      return <RenameKeyDialog keyItem={key} onClose={onClose} />
    case 'rotate':
      return <RotateKeyDialog keyItem={key} onClose={onClose} onRotated={onRotated} />
    case 'revoke':
      return <RevokeKeyDialog keyItem={key} onClose={onClose} />
  }
}

function RenameKeyDialog({ keyItem, onClose }: { keyItem: KeyFacts; onClose: () => void }) {
  const { keys, common } = useMessages()
  const [name, setName] = useState(keyItem.name)
  const rename = useApiMutation('PATCH /keys/:key', {
    done: keys.renamed,
    problem: 'shown-here',
    onDone: onClose,
  })
  return (
    <Dialog title={keys.renameTitle} open onClose={onClose}>
      <Form onSend={() => rename.mutate({ params: { key: keyItem.id }, body: { name: name.trim() } })}>
        <TextField
          label={keys.name}
          hint={keys.nameHint}
          data-autofocus
          required
          maxLength={NAME_MAX}
          value={name}
          onText={setName}
          onFocus={(event) => event.target.select()}
        />
        <FormEnd mutation={rename} go={common.save} disabled={name.trim() === ''} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

function RevokeKeyDialog({ keyItem, onClose }: { keyItem: KeyFacts; onClose: () => void }) {
  const { keys } = useMessages()
  const revoke = useApiMutation('POST /keys/:key/revoke', {
    done: keys.revoked,
    onDone: onClose,
  })
  return (
    <ConfirmByName
      open
      onClose={onClose}
      title={keys.revokeTitle}
      text={
        <div className="grid gap-2">
          <p>{keys.revokeText}</p>
          {keyItem.former !== null && <p>{keys.revokeFormer}</p>}
          {keyItem.playground && <p>{keys.revokePlayground}</p>}
        </div>
      }
      name={keyItem.name}
      action={keys.revokeGo}
      busy={revoke.isPending}
      onConfirm={() => revoke.mutate({ params: { key: keyItem.id } })}
    />
  )
}

const GRACES = ['0', '1h', '24h', '7d'] as const

interface RotateKeyDialogProps {
  readonly keyItem: KeyFacts
  readonly onClose: () => void
  readonly onRotated: (made: CreatedKey) => void
}

function RotateKeyDialog({ keyItem, onClose, onRotated }: RotateKeyDialogProps) {
  const { keys } = useMessages()
  const [grace, setGrace] = useState<(typeof GRACES)[number]>('24h')
  const rotate = useSecretMutation('POST /keys/:key/rotate', onRotated)
  return (
    <Dialog
      title={keys.rotateTitle(keyItem.name)}
      open
      onClose={onClose}
      closing={rotate.isPending ? 'by-button' : 'anyhow'}
    >
      <Form onSend={() => rotate.mutate({ params: { key: keyItem.id }, body: { grace } })}>
        <p className="text-soft">{keys.rotateText}</p>
        <ChoiceField label={keys.grace} value={grace} options={choicesOf(GRACES, keys.graces)} onPick={setGrace}>
          <p className="text-xs text-faint">{grace === '0' ? keys.graceNone : keys.graceSome}</p>
        </ChoiceField>
        {keyItem.former !== null && (
          <p className="rounded-md bg-held-wash px-3 py-2 text-held">{keys.graceAgain(keyItem.former.shown)}</p>
        )}
        <FormEnd mutation={rotate} go={keys.makeNew} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

interface KeyMenuProps {
  readonly keyItem: KeyFacts
  readonly onAction: (picked: PickedAction) => void
}

/** A revoked key has no actions, and a playground key has no secret to rotate. */
export function KeyMenu({ keyItem, onAction }: KeyMenuProps) {
  const { keys } = useMessages()
  const toggle = useDisableKey(keyItem)
  if (keyItem.state === 'revoked') return null
  const pick = (action: KeyAction) => () => onAction({ action, key: keyItem })
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={keys.actionsOf(keyItem.name)} />}>
      <MenuItem icon={SquarePen} onPick={pick('edit')}>
        {keys.edit}
      </MenuItem>
      <MenuItem icon={PencilLine} onPick={pick('rename')}>
        {keys.rename}
      </MenuItem>
      {!keyItem.playground && (
        <MenuItem icon={RefreshCw} onPick={pick('rotate')}>
          {keys.rotate}
        </MenuItem>
      )}
      <MenuItem icon={toggle.isDisabled ? CirclePlay : CirclePause} disabled={toggle.isPending} onPick={toggle.run}>
        {toggle.isDisabled ? keys.enable : keys.disable}
      </MenuItem>
      <MenuLine />
      <MenuItem icon={Ban} tone="danger" onPick={pick('revoke')}>
        {keys.revoke}
      </MenuItem>
    </Menu>
  )
}

function useDisableKey({ id, state }: KeyFacts) {
  const { keys } = useMessages()
  const isDisabled = state === 'disabled'
  const { mutate, isPending } = useApiMutation('PATCH /keys/:key', {
    done: isDisabled ? keys.enabled : keys.disabled,
  })
  return { isDisabled, isPending, run: () => mutate({ params: { key: id }, body: { disabled: !isDisabled } }) }
}
