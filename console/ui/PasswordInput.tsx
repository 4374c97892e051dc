import { Eye, EyeOff } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { IconButton } from './Button.tsx'
import { TextInput } from './TextInput.tsx'

/** A password that can be looked at while it is typed. */
export function PasswordInput(props: Omit<ComponentProps<'input'>, 'type'>) {
  const [shown, setShown] = useState(false)
  const { common } = useMessages()
  return (
    <div className="relative">
      <TextInput
        {...props}
        type={shown ? 'text' : 'password'}
        spellCheck={false}
        autoCapitalize="off"
        className="pe-10"
      />
      <IconButton
        icon={shown ? EyeOff : Eye}
        label={shown ? common.hide : common.show}
        aria-pressed={shown}
        onClick={() => setShown(!shown)}
        className="absolute inset-y-0.5 end-0.5"
      />
    </div>
  )
}
