"""The pages in a real Chromium; script/browser runs them."""
