import { Ellipsis, KeyRound, UserRoundCheck, UserRoundX } from 'lucide-react'
import { IconButton } from '../../ui/IconButton.tsx'
import { Menu, MenuItem } from '../../ui/Menu.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

interface PersonMenuProps {
  readonly email: string
  readonly disabled: boolean
  readonly onPassword: () => void
  readonly onDisable: () => void
  readonly onEnable: () => void
}

export function PersonMenu({ email, disabled, onPassword, onDisable, onEnable }: PersonMenuProps) {
  const { person } = useWords().accounts
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={person.more(email)} />}>
      {!disabled && (
        <MenuItem icon={KeyRound} onPick={onPassword}>
          {person.newPassword}
        </MenuItem>
      )}
      {disabled ? (
        <MenuItem icon={UserRoundCheck} onPick={onEnable}>
          {person.enable}
        </MenuItem>
      ) : (
        <MenuItem icon={UserRoundX} tone="danger" onPick={onDisable}>
          {person.disable}
        </MenuItem>
      )}
    </Menu>
  )
}
