import { useNavigate } from '@tanstack/react-router'
import { ChevronsUpDown, LogOut, ScrollText, Settings } from 'lucide-react'
import { holdPage, leavePage } from '../lib/leave-page.ts'
import { LANGUAGES, prefer, THEMES, usePreferences } from '../lib/preferences.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { useApiMutation } from '../queries/mutations.ts'
import { may, useSession } from '../queries/session.ts'
import { choicesOf } from '../ui/inputs.tsx'
import { Menu, MenuChoice, MenuItem, MenuLine } from '../ui/Menu.tsx'
import { signInAddress } from './landing.ts'

export function AccountMenu() {
  const { person } = useSession()
  const { shell } = useMessages()
  const navigate = useNavigate()
  const signOut = useSignOut()
  const { theme, language } = usePreferences()
  return (
    <Menu
      align="start"
      side="top"
      trigger={
        <button
          type="button"
          className="flex min-h-10 w-full items-center gap-2.5 rounded-lg px-2 py-1 text-start transition-colors hover:bg-hover aria-expanded:bg-hover"
        >
          <span
            aria-hidden="true"
            className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-wash text-sm font-semibold text-accent uppercase"
          >
            {person.email.slice(0, 1)}
          </span>
          <span className="min-w-0 flex-1 truncate text-sm">{person.email}</span>
          <ChevronsUpDown aria-hidden="true" className="size-4 shrink-0 text-faint" />
        </button>
      }
    >
      <MenuItem icon={Settings} onPick={() => void navigate({ to: '/settings' })}>
        {shell.pageTitles.settings}
      </MenuItem>
      {may(person, 'viewer') && (
        <MenuItem icon={ScrollText} onPick={() => void navigate({ to: '/audit' })}>
          {shell.pageTitles.audit}
        </MenuItem>
      )}
      <MenuLine />
      <MenuChoice
        label={shell.theme}
        value={theme}
        options={choicesOf(THEMES, shell.themes)}
        onPick={(picked) => prefer({ theme: picked })}
      />
      <MenuLine />
      <MenuChoice
        label={shell.language}
        value={language}
        options={choicesOf(LANGUAGES, shell.languages)}
        onPick={(picked) => prefer({ language: picked })}
      />
      <MenuLine />
      <MenuItem icon={LogOut} onPick={signOut}>
        {shell.signOut}
      </MenuItem>
    </Menu>
  )
}

export function useSignOut(): () => void {
  const { mutateAsync } = useApiMutation('DELETE /session', { onDone: () => leavePage(signInAddress()) })
  return () => {
    // A query may notice the ended session first and leave the page as if it had expired.
    const letGo = holdPage()
    void mutateAsync({}).catch(ignore).finally(letGo)
  }
}

/** Already shown in a toast. */
const ignore = () => {}
