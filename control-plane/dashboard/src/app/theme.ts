/** Light, dark, or what the system says; remembered in the browser. */
export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const key = 'sluice-theme'

export function currentTheme(): Theme {
  return THEMES.find((theme) => theme === localStorage.getItem(key)) ?? 'system'
}

export function applyTheme(theme: Theme): void {
  localStorage.setItem(key, theme)
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
