// Runs before the first paint, so that nobody who chose dark sees a white flash. The reader of record is lib/preferences.ts.
;(() => {
  const root = document.documentElement
  let theme = 'system'
  try {
    theme = JSON.parse(localStorage.getItem('millrace.console') || '{}').theme || theme
  } catch {
    // Without storage the system decides.
  }
  const dark = theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  root.dataset.theme = dark ? 'dark' : 'light'
})()
