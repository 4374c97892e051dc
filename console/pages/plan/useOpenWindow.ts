import { useNavigate, useSearch } from '@tanstack/react-router'

/** The window whose rows are shown. It stands in the address, so that a bar can be shown to somebody else. */
export function useOpenWindow() {
  const navigate = useNavigate()
  const { window: open } = useSearch({ strict: false })
  return {
    open,
    toggle: (id: string) =>
      void navigate({
        to: '/plan',
        search: open === id ? {} : { window: id },
        replace: true,
        resetScroll: false,
      }),
  }
}
