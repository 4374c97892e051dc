import { Ban, CirclePause, CirclePlay, Ellipsis, PencilLine, RefreshCw, SquarePen } from 'lucide-react'
import { useAct } from '../../questions/acts.ts'
import { IconButton } from '../../ui/Button.tsx'
import { Menu, MenuItem, MenuLine } from '../../ui/Menu.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import type { KeyAct, KeyFacts, PickedAct } from './own-key.ts'

interface KeyMenuProps {
  readonly keyItem: KeyFacts
  readonly onAct: (picked: PickedAct) => void
}

/** What can be done to a key. A revoked one is past everything; a playground key has no secret to rotate. */
export function KeyMenu({ keyItem, onAct }: KeyMenuProps) {
  const { keys } = useWords()
  const toggle = useDisableKey(keyItem)
  if (keyItem.state === 'revoked') return null
  const pick = (act: KeyAct) => () => onAct({ act, key: keyItem })
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={keys.actsOf(keyItem.name)} />}>
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
  const { keys } = useWords()
  const isDisabled = state === 'disabled'
  const { mutate, isPending } = useAct('PATCH /keys/:key', {
    done: isDisabled ? keys.enabled : keys.disabled,
  })
  return { isDisabled, isPending, run: () => mutate({ params: { key: id }, body: { disabled: !isDisabled } }) }
}
