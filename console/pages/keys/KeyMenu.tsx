import { Ban, CirclePause, CirclePlay, Ellipsis, PencilLine, RefreshCw, SquarePen } from 'lucide-react'
import { useApiMutation } from '../../queries/mutations.ts'
import { IconButton } from '../../ui/Button.tsx'
import { Menu, MenuItem, MenuLine } from '../../ui/Menu.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import type { KeyAction, KeyFacts, PickedAction } from './own-key.ts'

interface KeyMenuProps {
  readonly keyItem: KeyFacts
  readonly onAction: (picked: PickedAction) => void
}

/** What can be done to a key. A revoked one is past everything; a playground key has no secret to rotate. */
export function KeyMenu({ keyItem, onAction }: KeyMenuProps) {
  const { keys } = useMessages()
  const toggle = useDisableKey(keyItem)
  if (keyItem.state === 'revoked') return null
  const pick = (act: KeyAction) => () => onAction({ act, key: keyItem })
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

/** Stops a key for a while, or lets it go on: it can be undone, so nothing is asked back. */
function useDisableKey({ id, state }: KeyFacts) {
  const { keys } = useMessages()
  const isDisabled = state === 'disabled'
  const { mutate, isPending } = useApiMutation('PATCH /keys/:key', {
    done: isDisabled ? keys.enabled : keys.disabled,
  })
  return { isDisabled, isPending, run: () => mutate({ params: { key: id }, body: { disabled: !isDisabled } }) }
}
